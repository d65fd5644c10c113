package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// gitConfigVar names git's file of settings for a whole machine. Some gits look for it elsewhere than in /etc.
const gitConfigVar = "GIT_CONFIG_SYSTEM"

// gitConfig are the settings that git has from its machine: who commits, what git init names the first branch, and that the work
// tree may belong to another user, as it does to a command of root's.
func (p Place) gitConfig() string {
	text := "[user]\n\tname = Divisi\n\temail = divisi@localhost\n[safe]\n\tdirectory = *\n"
	if p.InitBranch != "" {
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ")
		text += "[init]\n\tdefaultBranch = \"" + quote.Replace(p.InitBranch) + "\"\n"
	}
	return text
}

// withGitConfig has git find the settings: among the files of the system where the command has its own, else in its home. Where
// there is something in that place, the command before has put it there, and it stays.
func (c Command) withGitConfig(l Level) (Command, error) {
	path := seenGitConfig
	if !l.have(Namespaces) {
		if c.Place.Home == "" {
			return c, nil
		}
		path = filepath.Join(c.Place.Home, ".divisi-gitconfig")
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.WriteString(c.Place.gitConfig())
			err = errors.Join(err, f.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return c, fmt.Errorf("write git's settings for commands: %w", err)
		}
	}
	c.Env = append([]string{gitConfigVar + "=" + path}, c.Env...)
	return c, nil
}

const seenGitConfig = "/etc/gitconfig"
