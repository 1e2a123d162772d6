{{- define "nigari.name" -}}
{{- default "nigari-controller" .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "nigari.fullname" -}}
{{- default "nigari-controller" .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "nigari.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "nigari.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "nigari.runnerAccount" -}}
{{- default "tf-runner" .Values.runner.serviceAccount.name -}}
{{- end -}}

{{- define "nigari.selector" -}}
app.kubernetes.io/name: {{ include "nigari.name" . }}
{{- end -}}

{{- define "nigari.labels" -}}
{{ include "nigari.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The release's own namespace and those that are named, each once. */}}
{{- define "nigari.runnerNamespaces" -}}
{{- $all := append .Values.runner.serviceAccount.allowedNamespaces .Release.Namespace -}}
{{- $all | uniq | sortAlpha | toJson -}}
{{- end -}}
