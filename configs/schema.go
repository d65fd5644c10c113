package configs

import (
	"encoding/json"
	"strings"

	"divisi/internal/spec"
)

// schema faults a text that is not a JSON Schema of its own.
func (d *document) schema(path string, text json.RawMessage) {
	if len(text) == 0 || d.unread(path) {
		return
	}
	if _, err := spec.CompileSchema("role:output", text); err != nil {
		d.faultf(d.where(path), "", "%s is not a JSON Schema: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
}
