/**
 * What an object's folder holds: a module that can be held in each step and does one thing to the
 * world, once for each text.
 */
export function gatedModule(effectsUrl: string, object: string, text = "hello"): string {
  return `
variable "text" {
  default = "${text}"
}
module "gate" {
  source = "${effectsUrl}/init/${object}.tar.gz"
}
data "terraform_remote_state" "gate" {
  backend = "http"
  config  = { address = "${effectsUrl}/plan/${object}" }
}
resource "terraform_data" "effect" {
  input            = var.text
  triggers_replace = [var.text]
  provisioner "local-exec" {
    interpreter = ["node", "-e"]
    command     = "${doing(`${effectsUrl}/apply/${object}`)}"
  }
}
output "text" {
  value = var.text
}
`;
}

/** A program without a word of shell: it ends well if the world has answered. */
function doing(url: string): string {
  return `fetch('${url}', {method: 'POST'}).then((answer) => process.exit(answer.ok ? 0 : 1))`;
}
