variable "cluster_name" {
  description = "Name of the EKS cluster that the controller runs in."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be an EKS cluster's name: at most 100 letters, digits, '-' and '_', starting with a letter or digit. It is the name, not the ARN."
  }
}

variable "namespace" {
  description = "Namespace of the controller, as in its manifests."
  type        = string
  default     = "gpu-reconciler"

  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "namespace must be a Kubernetes namespace's name: at most 63 lower-case letters, digits and '-'."
  }
}

variable "service_account" {
  description = "ServiceAccount of the controller, as in its manifests. Not the probe's: that needs no AWS rights."
  type        = string
  default     = "gpu-reconciler"

  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$", var.service_account))
    error_message = "service_account must be a Kubernetes ServiceAccount's name: lower-case letters, digits, '-' and '.'."
  }
}

variable "identity_mode" {
  description = "How the pod gets the role: pod_identity (needs the add-on eks-pod-identity-agent; Auto Mode has it built in) or irsa (needs oidc_provider_arn). Use one: where both are set up, the web identity wins."
  type        = string
  default     = "pod_identity"

  validation {
    condition     = contains(["pod_identity", "irsa"], var.identity_mode)
    error_message = "identity_mode must be pod_identity or irsa."
  }
}

variable "oidc_provider_arn" {
  description = "ARN of the cluster's IAM OIDC provider; needed for identity_mode irsa, and only there."
  type        = string
  default     = null

  validation {
    condition     = var.oidc_provider_arn == null || can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:oidc-provider/.+$", var.oidc_provider_arn))
    error_message = "oidc_provider_arn must look like arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF."
  }

  validation {
    condition     = (var.identity_mode == "irsa") == (var.oidc_provider_arn != null)
    error_message = "oidc_provider_arn is needed when identity_mode is irsa, and must be left out otherwise."
  }
}

variable "regions" {
  description = "Regions whose instance types the controller may read. Empty: the provider's region, which is the cluster's."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for region in var.regions : can(regex("^[a-z]{2,4}(-[a-z]+)+-[0-9]+$", region))])
    error_message = "regions must hold names such as eu-west-1."
  }
}

variable "role_name" {
  description = "Name of the IAM role. Null: the cluster's name with -gpu-reconciler."
  type        = string
  default     = null

  validation {
    condition     = var.role_name == null || can(regex("^[\\w+=,.@-]{1,64}$", var.role_name))
    error_message = "role_name must have at most 64 of the characters that IAM takes: letters, digits and +=,.@_-."
  }
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary of the role, where your account asks for one."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of everything that this module makes."
  type        = map(string)
  default     = {}
}
