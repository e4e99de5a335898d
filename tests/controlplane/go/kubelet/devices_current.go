//go:build !next

package main

import (
	_ "unsafe" // for go:linkname

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// Kubernetes 1.36.

// newDeviceManager is the constructor of devicemanager that takes a path. The
// exported one knows only the path of a real node, where there is room for one.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(logger klog.Logger, socket string, topology []cadvisorapi.Node,
	store topologymanager.Store) (*devicemanager.ManagerImpl, error)

func newTopologyManager() (topologymanager.Manager, error) {
	return topologymanager.NewManager(nil, topologymanager.PolicyNone, "container", nil)
}

func (c *deviceContainerManager) GetDevicePluginResourceCapacity() (v1.ResourceList, v1.ResourceList, []string) {
	return c.devices.GetCapacity()
}

func (c *deviceContainerManager) GetAllocateResourcesPodAdmitHandler() lifecycle.PodAdmitHandler {
	return c.topology
}
