/**
 * What an object's folder holds: a module that can be held in each step and does one thing to the
 * world, once for each `text` that it is given. `resources` are done one after the other.
 */
export function gatedModule(
  effectsUrl: string,
  object: string,
  resources: readonly string[] = ["effect"],
): string {
  const parts = resources.map((resource, index) => {
    const before = resources[index - 1];
    const after = before === undefined ? "" : `\n  depends_on = [terraform_data.${before}]`;
    return `
resource "terraform_data" "${resource}" {
  input            = var.text
  triggers_replace = [var.text]${after}
  provisioner "local-exec" {
    interpreter = ["node", "-e"]
    command     = "${doing(`${effectsUrl}/apply/${object}/${resource}`)}"
  }
}
`;
  });
  return `
variable "text" {
  default = "hello"
}
module "gate" {
  source = "${effectsUrl}/init/${object}.tar.gz"
}
data "terraform_remote_state" "gate" {
  backend = "http"
  config  = { address = "${effectsUrl}/plan/${object}" }
}
${parts.join("")}
output "text" {
  value = var.text
}
`;
}

/** A program without a word of shell: it ends well if the world has answered. */
function doing(url: string): string {
  return `fetch('${url}', {method: 'POST'}).then((answer) => process.exit(answer.ok ? 0 : 1))`;
}
