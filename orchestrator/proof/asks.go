package proof

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// inputs are the names of data that programs read: settings, schemas, queries, templates, and what builds are made of.
var inputs = lazyregexp.New(`(?i)(?:^|/)(?:[^/]*\.(?:ya?ml|json[5c]?|jsonnet|toml|cue|ini|conf|cfg|properties|env|xml|xsd|` +
	`xslt?|sql|proto|thrift|avsc|graphql|gql|tmpl|tpl|gotmpl|j2|jinja2?|hbs|mustache|ejs|erb|haml|pug|liquid|html?|css|` +
	`s[ac]ss|less|tf|tfvars|hcl|nix|rego|cmake|gradle|mk|bzl|bazel)|(?:gnu)?makefile|(?:docker|container)file|cmakelists\.txt|` +
	`[^/]*requirements[^/]*\.txt|go\.(?:mod|work))$`)

// Asks reports whether a person is asked about an unread file before its patch lands: source files, and data that programs read.
// Prose, pictures and what lies below doc and docs are only told; so is data that a gate may have read.
func Asks(u spec.Unread) bool {
	if u.Source || u.Grade == spec.GradeUnknown {
		return u.Source
	}
	dirs := strings.Split(path.Dir(u.Path), "/")
	return inputs.MatchString(u.Path) && !slices.Contains(dirs, "docs") && !slices.Contains(dirs, "doc")
}
