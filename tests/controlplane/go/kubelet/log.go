package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// logFile writes lines in the form container runtimes write them and kubelets
// read them: time, stream, F for a full line, text.
type logFile struct {
	sync.Mutex
	file *os.File
	rest []byte
}

func openLog(path string) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	return &logFile{file: file}, err
}

func (l *logFile) Write(data []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	l.rest = append(l.rest, data...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(data), nil
		}
		l.line(line)
		l.rest = rest
	}
}

func (l *logFile) close() {
	l.Lock()
	defer l.Unlock()
	if len(l.rest) > 0 {
		l.line(l.rest)
	}
	_ = l.file.Close()
}

func (l *logFile) line(text []byte) {
	fmt.Fprintf(l.file, "%s stdout F %s\n", time.Now().UTC().Format(time.RFC3339Nano), text)
}
