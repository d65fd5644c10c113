package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"divisi/internal/sandbox"
	"divisi/subagents/service"
)

// serves reports whether services meet the gates of the attempt on a loopback of theirs.
func (at *attempt) serves() bool {
	a := at.assignment
	return tests(a) && len(a.Project.Services) > 0 && !a.Role.Network && sandbox.Views() == nil
}

// services is the input of the project's services: they see the tree as the gates do, and write their homes alone.
func (at *attempt) services() (service.Config, error) {
	list := at.assignment.Project.Services
	if !at.serves() {
		why := errors.New("its gates have the network: take network out of the role " + at.assignment.Role.Name)
		if err := sandbox.Views(); err != nil {
			why = fmt.Errorf("this machine gives it no network of its own: %w", err)
		}
		return service.Config{}, &service.FailedError{Service: list[0].Name, Why: "cannot be started: " + why.Error()}
	}
	if err := at.environment(sandbox.Gates); err != nil {
		return service.Config{}, err
	}
	prepared := filepath.Join(at.private, "prepared") // a patch says what prepare does: what it leaves is for its tree alone
	if at.assignment.Base {
		prepared = filepath.Join(at.worker.cfg.Temp, "services")
	}
	c := service.Config{
		Services: list, Dir: filepath.Join(at.private, "services"), Prepared: prepared,
		Command: sandbox.Command{Dir: at.ground().Tree, Place: at.ground(), Env: at.env, Readable: at.readable},
	}
	c.Command.Place.Downloads = sandbox.DownloadDirs{} // the view of a gate goes before the gate does
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		return c, fmt.Errorf("make a directory for services: %w", err)
	}
	return c, nil
}
