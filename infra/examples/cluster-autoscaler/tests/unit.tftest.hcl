# terraform test, without an AWS account: the provider is mocked.

mock_provider "aws" {}

variables {
  region = "eu-west-1"
  node_group_tags = {
    dev  = { "k8s.io/cluster-autoscaler/node-template/resources/gpu-reconciler.io/gpu-memory" = "14592Mi" }
    prod = { "k8s.io/cluster-autoscaler/node-template/resources/gpu-reconciler.io/gpu-memory" = "21743Mi" }
  }
  autoscaling_groups = { dev = "eks-dev-1", prod = "eks-prod-1", cpu = "eks-cpu-1" }
}

run "each_tag_goes_to_its_own_group_and_to_no_instance" {
  assert {
    condition = { for key, one in aws_autoscaling_group_tag.node_template : one.autoscaling_group_name => one.tag[0].value } == {
      "eks-dev-1"  = "14592Mi"
      "eks-prod-1" = "21743Mi"
    }
    error_message = "Each group must get its own figure."
  }

  assert {
    condition     = alltrue([for one in aws_autoscaling_group_tag.node_template : !one.tag[0].propagate_at_launch])
    error_message = "Instances need none of these tags."
  }

  assert {
    condition     = length(output.tags["eks-cpu-1"]) == 0
    error_message = "A group without tags has none."
  }
}

run "a_node_group_without_its_auto_scaling_group_is_refused" {
  command = plan

  variables {
    autoscaling_groups = { dev = "eks-dev-1" }
  }

  expect_failures = [var.autoscaling_groups]
}

run "other_tags_are_refused" {
  command = plan

  variables {
    node_group_tags = { dev = { "Name" = "dev" } }
  }

  expect_failures = [var.node_group_tags]
}
