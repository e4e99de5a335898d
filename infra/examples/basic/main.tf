# A cluster that is there already, with the add-on eks-pod-identity-agent:
#   terraform init && terraform apply -var cluster_name=demo -var region=eu-west-1
#   kubectl apply -k ../../../deploy/manifests

provider "aws" {
  region = var.region
}

module "gpu_reconciler" {
  source = "../../modules/reconciler"

  cluster_name = var.cluster_name
  tags         = { app = "gpu-reconciler" }
}
