package main

import (
	"context"
	"errors"

	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	apitest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// machine is what cadvisor would have found out about the host.
//
// I is cadvisor's MachineInfo. It moved to another package, and the method that
// returns it got an argument, in Kubernetes 1.37: machine_current.go and
// machine_next.go have the method, and neither has to import the type.
type machine[I any] struct {
	cadvisor.Interface
	info I
}

func machineWith[I any](fake *cadvisortest.Fake, info *I) *machine[I] {
	return &machine[I]{fake, *info}
}

// containerManager has device plugins, and says whether a registration zeroes
// what the node advertises besides. Kubernetes' own stubs do one or the other.
type containerManager struct {
	cm.ContainerManager
	reset bool
}

func newContainerManager(o options) cm.ContainerManager {
	if o.pluginFolder != "" {
		return newDeviceContainerManager(o)
	}
	return &containerManager{cm.NewStubContainerManagerWithDevicePluginResource(o.devices), o.reset}
}

func (c *containerManager) ShouldResetExtendedResourceCapacity() bool { return c.reset }

// images pulls everything at once, but for images that are not there.
type images struct {
	*apitest.FakeImageService
	missing string
}

func newImages(missing string) internalapi.ImageManagerService {
	return &images{apitest.NewFakeImageService(), missing}
}

func (i *images) PullImage(ctx context.Context, image *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig,
	sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	if contains(image.Image, i.missing) {
		return "", errors.New(image.Image + ": not found")
	}
	return i.FakeImageService.PullImage(ctx, image, auth, sandbox)
}
