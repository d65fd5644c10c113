package proof

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var (
	// prose are the names of files that people read, and no program of the repository as a rule.
	prose = lazyregexp.New(`(?i)(?:^|/)(?:(?:readme|changelog|changes|license|licence|copying|notice|authors|contributors|` +
		`contributing|maintainers|codeowners)(?:[._-][^/]*)?|\.gitignore|\.gitattributes|\.mailmap|\.editorconfig|[^/]*\.(?:md|` +
		`markdown|txt|rst|adoc|asciidoc|org|tex|pdf|docx?|odt|rtf|png|jpe?g|gif|svg|webp|ico|bmp|tiff?|woff2?|ttf|otf|eot|` +
		`mp[34]|wav|ogg|webm|mov))$`)
	// inputs are the text files among these that a build or an installer reads.
	inputs = lazyregexp.New(`(?i)(?:^|/)(?:cmakelists|[^/]*(?:requirements|constraints)[^/]*)\.txt$`)
)

// Asks reports whether a person is asked about an unread file before its patch lands. What people read, pictures and what lies
// below doc and docs are only told; so is data that a gate may have read.
func Asks(u spec.Unread) bool {
	switch {
	case u.Source:
		return true
	case u.Grade == spec.GradeUnknown:
		return false
	case inputs.MatchString(u.Path):
		return true
	}
	dirs := strings.Split(path.Dir(u.Path), "/")
	return !prose.MatchString(u.Path) && !slices.Contains(dirs, "docs") && !slices.Contains(dirs, "doc")
}
