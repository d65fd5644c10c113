package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
)

// calledInShell matches a command of divisi in a line of a shell: at the beginning, or behind a prompt, a pipe, &&, ssh or $(.
var calledInShell = regexp.MustCompile(`(?:^|[$|(] ?|&& |ssh \S+ |exec \S+ -- )\s*divisi( [^|;)&]*)`)

var prompt = regexp.MustCompile(`^[a-z0-9]+\$ +`)

// shellWord matches a word of a shell.
var shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

// understood fails where a command, a flag or the number of arguments does not exist. It returns the command.
func understood(t *testing.T, args []string, where string) *cobra.Command {
	t.Helper()
	c, rest, err := newRoot(&cli.Globals{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}).Find(args)
	require.NoError(t, err, where)
	require.NotEmpty(t, c.Parent(), "%s: names no command", where)
	require.NoError(t, c.ParseFlags(rest), where)
	require.NoError(t, c.ValidateArgs(c.Flags().Args()), where)
	return c
}

// shellCalls are the arguments of each call of divisi in a line of a shell, without comments and redirections.
func shellCalls(line string) (calls [][]string) {
	line, _, _ = strings.Cut(line, " #")
	for _, m := range calledInShell.FindAllStringSubmatch(line, -1) {
		var args []string
		for _, word := range shellWord.FindAllString(m[1], -1) {
			if strings.HasPrefix(word, "<") || strings.HasPrefix(word, ">") {
				break
			}
			args = append(args, strings.Trim(word, `"'`))
		}
		calls = append(calls, args)
	}
	return calls
}

// prompted are the lines in the code blocks of a page that begin with a prompt, such as serve$.
func prompted(page string) (lines []string) {
	for i, block := range strings.Split(page, "\n```") {
		for _, line := range strings.Split(block, "\n") {
			if i%2 == 1 && prompt.MatchString(line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// A person types what these pages show, at night: each command of them exists, with its flags.
func TestPagesOfOperatorsShowCommandsThatExist(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"operate": 48, "machines": 18} {
		text, err := os.ReadFile(filepath.Join("../../docs", page+".md"))
		require.NoError(t, err)
		seen := 0
		for _, line := range prompted(string(text)) {
			for _, args := range shellCalls(line) {
				understood(t, args, page+": "+line)
				seen++
			}
		}
		require.GreaterOrEqual(t, seen, least, page)
	}
}

// example is a file of docs/operate.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/operate", name))
	require.NoError(t, err)
	return string(text)
}

func TestUnitsOfSystemdStartWhatExists(t *testing.T) {
	t.Parallel()
	for name, starting := range map[string]string{"serve": "start", "worker": "worker"} {
		unit := example(t, "divisi-"+name+".service")
		starts := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/divisi (.*)$`).FindStringSubmatch(unit)
		require.NotNil(t, starts, name)
		require.Equal(t, starting, understood(t, strings.Fields(starts[1]), name).Name())
		require.Contains(t, unit, "\nKillMode=mixed\n") // else each command of the worker gets the SIGTERM too
		require.Contains(t, unit, "\nDelegate=yes\n")
	}
}

func TestTheContainerStartsWhatExists(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindStringSubmatch(example(t, "Containerfile"))
	require.NotNil(t, command)
	var args []string
	require.NoError(t, yaml.Unmarshal([]byte(command[1]), &args))
	require.Equal(t, "worker", understood(t, args, "Containerfile").Name())
}

// object is what the test reads of an object of Kubernetes.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Selector struct {
			Labels map[string]string `yaml:"matchLabels"`
		} `yaml:"selector"`
		Template struct {
			Metadata struct {
				Labels map[string]string `yaml:"labels"`
			} `yaml:"metadata"`
			Spec struct {
				Grace      int   `yaml:"terminationGracePeriodSeconds"`
				HostUsers  *bool `yaml:"hostUsers"`
				Containers []struct {
					Command []string         `yaml:"command"`
					Args    []string         `yaml:"args"`
					Rights  map[string]any   `yaml:"securityContext"`
					Mounts  []map[string]any `yaml:"volumeMounts"`
					Ports   []map[string]any `yaml:"ports"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

func TestTheObjectsOfKubernetesStartWhatExists(t *testing.T) {
	t.Parallel()
	all := map[string]object{}
	for _, text := range strings.Split(example(t, "kubernetes.yaml"), "\n---\n") {
		var o object
		require.NoError(t, yaml.Unmarshal([]byte(text), &o)) // also a key that is there twice is an error
		require.NotEmpty(t, o.Metadata.Name)
		all[o.APIVersion+" "+o.Kind] = o
	}
	require.Len(t, all, 3)
	require.Contains(t, all, "v1 Service")
	for kind, name := range map[string]string{"apps/v1 StatefulSet": "start", "apps/v1 Deployment": "worker"} {
		o, ok := all[kind]
		require.True(t, ok, kind)
		pod := o.Spec.Template.Spec
		require.Equal(t, o.Spec.Selector.Labels, o.Spec.Template.Metadata.Labels)
		require.Equal(t, 30, pod.Grace)
		require.Len(t, pod.Containers, 1)
		require.Equal(t, []string{"/usr/local/bin/divisi"}, pod.Containers[0].Command)
		c := understood(t, pod.Containers[0].Args, kind)
		require.Equal(t, name, c.Name())
		if name == "worker" {
			grace, err := c.Flags().GetDuration("grace")
			require.NoError(t, err)
			require.Less(t, grace.Seconds(), float64(pod.Grace))
			require.False(t, *pod.HostUsers) // procMount: Unmasked is refused without it
			require.Equal(t, "Unmasked", pod.Containers[0].Rights["procMount"])
		}
	}
}
