package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"divisi/internal/spec"
)

// Organisation is what the file of an organisation has.
type Organisation struct {
	spec.Organisation
	file string
	keys map[string]int
}

// ReadOrganisation reads the file of an organisation; nil where there is none. The error is a *FileError with every fault
// when the file is wrong.
func ReadOrganisation(file string) (*Organisation, error) {
	text, err := readNamed(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotRead(file, err)
	}
	return ParseOrganisation(file, text)
}

// ParseOrganisation reads such a file. It is only named, for messages.
func ParseOrganisation(file, text string) (*Organisation, error) {
	d, r := newDocument(file, text), &Organisation{file: file}
	d.read(text, organisationSchema(), &r.Organisation)
	d.problems(r.Validate())
	whole, _, err := parseProject(File{Name: file}, r.Preset) // a preset model can name one of the defaults
	if errors.As(err, new(*FileError)) {
		err = nil
		for _, p := range whole.Validate() {
			p.Path = join("preset", p.Path)
			d.problems([]spec.Problem{p})
		}
	}
	r.keys = d.keys
	return r, errors.Join(err, d.err())
}

// Project reads a project file over what the organisation presets; both may be nil. from has the place of each field that one of
// them sets: of a table that of its fields.
func (r *Organisation) Project(file *File) (p spec.Project, from map[string]string, err error) {
	from = map[string]string{}
	if r != nil {
		text, err := json.Marshal(r.Preset) // a copy: what is read over it changes its maps
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return p, nil, fmt.Errorf("copy what %s presets: %w", r.file, err)
		}
		for key, line := range r.keys {
			if field, is := strings.CutPrefix(key, "preset."); is {
				from[field] = fmt.Sprintf("%s:%d", r.file, line)
			}
		}
	}
	if file == nil {
		file = &File{Name: projectFile}
	}
	p, keys, err := parseProject(*file, p)
	for field, line := range keys {
		from[field] = fmt.Sprintf("%s:%d", file.Name, line)
	}
	for field := range from {
		top, below, _ := strings.Cut(field, ".")
		switch {
		case strings.Contains(below, "."):
			delete(from, field) // the field of one model or the like is its own
		case below != "":
			delete(from, top)
		}
	}
	return p, from, err
}
