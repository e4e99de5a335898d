# Cluster Autoscaler scales a node group from zero for GPU memory when its Auto Scaling group says by tags what a node will
# offer. The tags come from the command, under the same settings as the controller's:
#
#   gpu-reconciler asg-tags g4dn.xlarge --node-group dev -o terraform > tags.auto.tfvars.json
#   terraform apply -var region=eu-west-1 -var 'autoscaling_groups={dev="eks-dev-..."}'
#
# Of an EKS managed node group the Auto Scaling group is aws_eks_node_group.dev.resources[0].autoscaling_groups[0].name; tags
# of the node group itself do not reach it. Newer Cluster Autoscalers read those too: tags = var.node_group_tags["dev"].

provider "aws" {
  region = var.region
}

locals {
  # One resource for each tag, so that a tag of somebody else's on the same group is not touched.
  tags = merge([
    for group, tags in var.node_group_tags : {
      for key, value in tags : "${group} ${key}" => { group = group, key = key, value = value }
    }
  ]...)
}

resource "aws_autoscaling_group_tag" "node_template" {
  for_each = local.tags

  autoscaling_group_name = var.autoscaling_groups[each.value.group]

  tag {
    key                 = each.value.key
    value               = each.value.value
    propagate_at_launch = false # they tell of nodes that are not there; instances need none of them
  }
}
