package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	apitest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
)

// terminationLog names, for a container that really runs, the file of the host
// that a real runtime would have mounted at its terminationMessagePath.
const terminationLog = "GPU_PROBE_TERMINATION_LOG"

// containerRuntime pretends to run containers, and runs a few.
//
// It is handed to the kubelet as a value: the kubelet does not care that there
// is no gRPC between them.
type containerRuntime struct {
	*apitest.FakeRuntimeService
	words   []string
	env     []string
	configs map[string]*runtimeapi.ContainerConfig
	running map[string]*running
}

// running is a container that really runs; ended is closed once its result is in its status.
type running struct {
	command *exec.Cmd
	ended   chan struct{}
}

func newRuntime(words, env []string) *containerRuntime {
	fake := apitest.NewFakeRuntimeService()
	fake.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}
	return &containerRuntime{fake, words, env, map[string]*runtimeapi.ContainerConfig{}, map[string]*running{}}
}

func (r *containerRuntime) CreateContainer(ctx context.Context, sandbox string, config *runtimeapi.ContainerConfig,
	sandboxConfig *runtimeapi.PodSandboxConfig) (string, error) {
	id, err := r.FakeRuntimeService.CreateContainer(ctx, sandbox, config, sandboxConfig)
	if err != nil {
		return "", err
	}
	r.Lock()
	defer r.Unlock()
	r.configs[id] = config
	// The kubelet finds the termination message by the mount, and the log by the path.
	r.Containers[id].Mounts = config.Mounts
	r.Containers[id].LogPath = filepath.Join(sandboxConfig.GetLogDirectory(), config.LogPath)
	return id, nil
}

func (r *containerRuntime) StartContainer(ctx context.Context, id string) error {
	if err := r.FakeRuntimeService.StartContainer(ctx, id); err != nil {
		return err
	}
	r.Lock()
	defer r.Unlock()
	config := r.configs[id]
	argv := slices.Concat(config.Command, config.Args)
	if !slices.ContainsFunc(argv, func(word string) bool { return slices.Contains(r.words, word) }) {
		return nil
	}
	command := r.command(argv, config)
	output, err := openLog(r.Containers[id].LogPath)
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return err
	}
	klog.InfoS("Running a container", "command", argv, "pid", command.Process.Pid)
	r.running[id] = &running{command, make(chan struct{})}
	go r.wait(id, r.running[id], output)
	return nil
}

// StopContainer asks, waits for timeout seconds, and kills, as container runtimes do.
func (r *containerRuntime) StopContainer(ctx context.Context, id string, timeout int64) error {
	r.Lock()
	process, ok := r.running[id]
	r.Unlock()
	if ok {
		_ = process.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-process.ended:
		case <-time.After(time.Duration(timeout) * time.Second):
			_ = process.command.Process.Kill()
			<-process.ended
		}
	}
	return r.FakeRuntimeService.StopContainer(ctx, id, timeout)
}

// command stays in the kubelet's process group, so that both can be killed at once.
func (r *containerRuntime) command(argv []string, config *runtimeapi.ContainerConfig) *exec.Cmd {
	// The image's interpreter is not here; the one on the PATH stands for it.
	command := exec.Command(filepath.Base(argv[0]), argv[1:]...)
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, pair := range r.env {
		key, value, _ := strings.Cut(pair, "=")
		command.Env = append(command.Env, key+"="+onHost(value, config.Mounts))
	}
	for _, pair := range config.Envs {
		command.Env = append(command.Env, pair.Key+"="+onHost(string(pair.Value), config.Mounts))
	}
	for _, mount := range config.Mounts {
		if strings.HasSuffix(mount.ContainerPath, "termination-log") {
			// The kubelet made this file through an OS that is fake.
			_ = os.MkdirAll(filepath.Dir(mount.HostPath), 0o755)
			_ = os.WriteFile(mount.HostPath, nil, 0o666)
			command.Env = append(command.Env, terminationLog+"="+mount.HostPath)
		}
	}
	return command
}

// onHost makes a path in the container one of the host, where a volume is mounted there.
func onHost(value string, mounts []*runtimeapi.Mount) string {
	for _, mount := range mounts {
		if rest, found := strings.CutPrefix(value, mount.ContainerPath); found && (rest == "" || rest[0] == '/') {
			return mount.HostPath + rest
		}
	}
	return value
}

func (r *containerRuntime) wait(id string, process *running, output *logFile) {
	_ = process.command.Wait()
	output.close()
	defer close(process.ended)
	r.Lock()
	defer r.Unlock()
	delete(r.running, id)
	container, ok := r.Containers[id]
	if !ok {
		return
	}
	container.State = runtimeapi.ContainerState_CONTAINER_EXITED
	container.FinishedAt = time.Now().UnixNano()
	container.ExitCode = int32(exitCode(process.command.ProcessState))
	container.Reason = "Completed"
	if container.ExitCode != 0 {
		container.Reason = "Error"
	}
}

// exitCode is 128 + signal for a killed process, as container runtimes have it.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
