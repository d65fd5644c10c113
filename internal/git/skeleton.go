package git

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// skeleton describes a private bare repository directory, written file by file: that is faster than git init, and
// nothing gets in that is not said here.
type skeleton struct {
	// format is the length of an object id: 40 (SHA-1) or 64 (SHA-256).
	format int
	// head is the content of HEAD; empty means a branch that does not exist.
	head string
	// borrow are objects directories to read from.
	borrow []string
	// shallow are commits that are to have no parents.
	shallow []string
	// exclude is the content of info/exclude.
	exclude []byte
	// attributes are those that come before all others: rawBytes where there are none.
	attributes string
	// ends are settings of the user.
	ends Ends
	// ordinary makes it the repository of a person, with a work tree around it.
	ordinary bool
	// links maps names in the directory to what they point at.
	links map[string]string
}

const plainConfig = `[core]
	repositoryformatversion = %d
	bare = true
	logAllRefUpdates = false
	splitIndex = true
	safeCRLF = false
[gc]
	auto = 0
[maintenance]
	auto = false
`

const ordinaryConfig = `[core]
	repositoryformatversion = %d
	bare = false
`

const sha256Config = `[extensions]
	objectFormat = sha256
`

// write makes the directory, which must not exist.
func (s skeleton) write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make a repository directory: %w", err)
	}
	dirs := []string{"objects", "objects/info", "objects/pack", "info"}
	if _, ok := s.links["refs"]; !ok {
		dirs = append(dirs, "refs", "refs/heads")
	}
	for _, name := range dirs {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("make a repository directory: %w", err)
		}
	}
	for name, content := range s.files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("fill a repository directory: %w", err)
		}
	}
	for name, target := range s.links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("fill a repository directory: %w", err)
		}
	}
	return nil
}

func (s skeleton) files() map[string]string {
	config := plainConfig
	if s.ordinary {
		config = ordinaryConfig
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": fmt.Sprintf(config, 0)}
	if s.format == 64 {
		files["config"] = fmt.Sprintf(config, 1) + sha256Config
	}
	if s.head != "" {
		files["HEAD"] = s.head + "\n"
	}
	for _, dir := range s.borrow {
		files["objects/info/alternates"] += quoteAlternate(dir) + "\n"
	}
	if len(s.shallow) > 0 {
		files["shallow"] = strings.Join(s.shallow, "\n") + "\n"
	}
	if len(s.exclude) > 0 {
		files["info/exclude"] = string(s.exclude)
	}
	files["config"] += s.ends.config()
	if attributes := cmp.Or(s.attributes, rawBytes); attributes != asStored {
		files["info/attributes"] = attributes
	}
	return files
}

// quoteAlternate writes a path as git's alternates file wants it: a line break would end the entry.
func quoteAlternate(path string) string {
	if !strings.ContainsAny(path, "\n\r") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(path) + `"`
}
