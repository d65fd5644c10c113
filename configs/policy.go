package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"divisi/internal/spec"
)

// PolicyFile is the name of the policy file of a machine's owner.
const PolicyFile = "worker.yaml"

// Policy reads the file of a machine's owner; fs.ErrNotExist where there is none. One that other users can read or change is
// refused, but for the group of one that root owns: it reports which secrets and hosts a stranger's run can have. The error is a
// *FileError with every fault when the file is wrong.
func Policy(file string) (*spec.Policy, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the policy of this machine: %w", err)
	}
	if err == nil {
		err = ownerAlone(info)
	}
	if err != nil {
		return nil, cannotRead(file, err)
	}
	text, err := readNamed(filepath.Clean(file))
	if err != nil {
		return nil, cannotRead(file, err)
	}
	return ParsePolicy(file, text)
}

// ParsePolicy reads such a file. It is only named, for messages.
func ParsePolicy(file, text string) (*spec.Policy, error) {
	d, p := newDocument(file, text), &spec.Policy{}
	d.read(text, policySchema(), p)
	d.problems(p.Validate())
	if err := d.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// ReadOwn reads a project file that is kept outside of repositories: a regular file of the person's own, which no other user can
// read or change.
func ReadOwn(file string) (string, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil {
		err = ownerAlone(info)
	}
	text := ""
	if err == nil {
		text, err = readNamed(file)
	}
	if err == nil && len(text) > maxProject {
		err = fmt.Errorf("it is larger than %d KiB", maxProject>>10)
	}
	if err != nil {
		return "", cannotRead(file, err)
	}
	return text, nil
}
