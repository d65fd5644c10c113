package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"divisi/internal/text"
)

const (
	// beginPause is between two looks at a process that begins.
	beginPause = 50 * time.Millisecond
	// maxReason bounds what is told of why a process ended before it began, in bytes.
	maxReason = 4 << 10
)

// ErrLate reports that a process takes too long until it begins. It continues.
var ErrLate = errors.New("it takes too long")

// Outlive starts a process of this program that outlives this one, with the same runs. It prints to a log, and Outlive returns
// when that has an event, or when the process has ended well. Where it ended before, why is the reason that it printed.
func (g *Globals) Outlive(ctx context.Context, log *os.File, within time.Duration, args ...string) (why string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	global := []string{"--state-dir", g.StateDir, "--output", "json"}
	if g.On != "" {
		global = append(global, "--on", g.On)
	}
	c := exec.Command(self, append(global, args...)...) //nolint:noctx // the process outlives this one
	c.Stdout, c.Stderr = log, log
	apart(c)
	if err := c.Start(); err != nil {
		return "", fmt.Errorf("start a process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	look := time.NewTicker(beginPause)
	defer look.Stop()
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		select {
		case err := <-ended:
			if err == nil || began(log.Name()) {
				return "", nil
			}
			return Reason(log.Name()), nil
		case <-look.C:
			if began(log.Name()) {
				return "", nil
			}
		case <-late.C:
			return "", ErrLate
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// began reports whether the log of a process has an event, whole.
func began(path string) bool {
	data, err := os.ReadFile(path)
	whole := string(data[:bytes.LastIndexByte(data, '\n')+1])
	return err == nil && strings.Contains(whole, `"kind":`)
}

// Reason is why the process ended before a run continued: its last line tells.
func Reason(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := lines[len(lines)-1]
	var ended struct {
		Error   string `json:"error"`
		Outcome string `json:"outcome"`
	}
	if json.Unmarshal([]byte(last), &ended) == nil {
		last = cmp.Or(ended.Error, ended.Outcome, last)
	}
	return text.Clip(last, maxReason)
}

// RunIn is the run that the log of a process names first; "" where it names none.
func RunIn(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the output of a process: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		var named struct {
			Run string `json:"run"`
		}
		if json.Unmarshal([]byte(line), &named) == nil && named.Run != "" {
			return named.Run, nil
		}
	}
	return "", nil
}
