package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Level is what confinement this machine gives.
type Level struct {
	// ABI is the version of Landlock in force; 0 means that commands run unconfined.
	ABI int
	// Why says why nothing is confined; empty when ABI is not 0.
	Why string
}

// Confined says whether commands are kept from writing outside their paths.
func (l Level) Confined() bool { return l.ABI > 0 }

// String is one sentence for people.
func (l Level) String() string {
	switch {
	case l.ABI == 0:
		return "Commands are NOT confined on this machine: " + l.Why + "."
	case l.ABI < 3:
		return fmt.Sprintf("Commands write only their own tree, temp and caches (Landlock %d), but this kernel lets them "+
			"truncate other files; reading and the network are open.", l.ABI)
	case l.ABI < 6:
		return fmt.Sprintf("Commands write only their own tree, temp and caches (Landlock %d), but can signal other processes "+
			"of yours; reading and the network are open.", l.ABI)
	default:
		return fmt.Sprintf("Commands write only their own tree, temp and caches and signal only their own processes "+
			"(Landlock %d); reading and the network are open.", l.ABI)
	}
}

// Probe says what this machine gives. The first call tries it out: a restricted thread attempts a write that must be denied.
func Probe() Level { return probed() }

var probed = sync.OnceValue(func() Level {
	abi, why := landlockABI()
	if abi == 0 {
		return Level{Why: why}
	}
	if err := tryOut(); err != nil {
		return Level{Why: err.Error()}
	}
	return Level{ABI: abi}
})

// tryOut returns nil when a thread without writable paths is really denied a write that this process may do.
func tryOut() error {
	dir, err := os.MkdirTemp("", "divisi-probe-")
	if err != nil {
		return fmt.Errorf("the confinement could not be tried out: %w", err)
	}
	defer os.RemoveAll(dir) // an empty temporary directory at worst
	rules, err := newRuleset(nil)
	if err != nil {
		return err
	}
	defer rules.close()
	var denied error
	release, err := onOwnThread(rules.restrictThread, func() error {
		denied = os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600)
		return nil
	})
	if err != nil {
		return err
	}
	release()
	switch {
	case denied == nil:
		return errors.New("landlock is there but a forbidden write was not denied")
	case !os.IsPermission(denied):
		return fmt.Errorf("the confinement could not be tried out: %w", denied)
	}
	return nil
}
