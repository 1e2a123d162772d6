variable "greeting" {
  type = string
}

resource "terraform_data" "hello" {
  input = "${var.greeting}, world"
}

output "message" {
  value = terraform_data.hello.output
}
