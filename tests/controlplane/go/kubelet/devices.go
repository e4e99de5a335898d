package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	internalapi "k8s.io/cri-api/pkg/apis"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/status"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

// deviceContainerManager has the kubelet's own device manager, with its sockets
// and its checkpoint in a folder. Device plugins are served for whoever writes
// them into the folder's plugins.json: {"nvidia.com/gpu": ["id", "id"]}. What
// is taken out of the file is a plugin that went away.
type deviceContainerManager struct {
	*containerManager
	folder   string
	devices  *devicemanager.ManagerImpl
	topology topologymanager.Manager
}

func newDeviceContainerManager(o options) cm.ContainerManager {
	topology, err := newTopologyManager()
	exitOn(err)
	devices, err := newDeviceManager(klog.Background(), filepath.Join(o.pluginFolder, "kubelet.sock"), nil, topology)
	exitOn(err)
	topology.AddHintProvider(klog.Background(), devices)
	inner := &containerManager{cm.NewStubContainerManager(), o.reset}
	return &deviceContainerManager{inner, o.pluginFolder, devices, topology}
}

func (c *deviceContainerManager) Start(ctx context.Context, node *v1.Node, pods cm.ActivePodsFunc, getNode cm.GetNodeFunc,
	sources config.SourcesReady, statuses status.PodStatusProvider, runtime internalapi.RuntimeService, local bool) error {
	if err := c.containerManager.Start(ctx, node, pods, getNode, sources, statuses, runtime, local); err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	// No container is reported as running: the pretended runtime forgets them with the kubelet.
	err := c.devices.Start(logger, devicemanager.ActivePodsFunc(pods), sources, containermap.NewContainerMap(), sets.New[string]())
	if err == nil {
		go c.serve(ctx, logger)
	}
	return err
}

func (c *deviceContainerManager) UpdatePluginResources(node *schedulerframework.NodeInfo, attrs *lifecycle.PodAdmitAttributes) error {
	return c.devices.UpdatePluginResources(node, attrs)
}

// serve keeps a plugin for every resource of the file.
func (c *deviceContainerManager) serve(ctx context.Context, logger klog.Logger) {
	type served struct {
		ids  []string
		stub *plugin.Stub
	}
	running := map[string]served{}
	for number := 0; ; time.Sleep(100 * time.Millisecond) {
		wanted := map[string][]string{}
		if text, err := os.ReadFile(filepath.Join(c.folder, "plugins.json")); err == nil {
			exitOn(json.Unmarshal(text, &wanted))
		}
		for resource, each := range running {
			if ids, ok := wanted[resource]; !ok || !slices.Equal(ids, each.ids) {
				exitOn(each.stub.Stop(logger))
				delete(running, resource)
			}
		}
		for resource, ids := range wanted {
			if _, ok := running[resource]; ok {
				continue
			}
			number++
			stub, err := c.plugin(ctx, logger, resource, ids, fmt.Sprintf("plugin-%d.sock", number))
			exitOn(err)
			running[resource] = served{ids, stub}
		}
	}
}

func (c *deviceContainerManager) plugin(ctx context.Context, logger klog.Logger, resource string, ids []string,
	socket string) (*plugin.Stub, error) {
	devices := []*pluginapi.Device{}
	for _, id := range ids {
		devices = append(devices, &pluginapi.Device{ID: id, Health: pluginapi.Healthy})
	}
	stub := plugin.NewDevicePluginStub(logger, devices, filepath.Join(c.folder, socket), resource, false, false)
	stub.SetAllocFunc(allocate)
	if err := stub.Start(ctx); err != nil {
		return nil, err
	}
	return stub, stub.Register(ctx, filepath.Join(c.folder, "kubelet.sock"), resource, "")
}

func allocate(request *pluginapi.AllocateRequest, _ map[string]*pluginapi.Device) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{})
	}
	return response, nil
}
