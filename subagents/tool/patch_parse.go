package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// patchParser reads a patch line by line.
type patchParser struct {
	lines []string
	at    int
	files []*filePatch
	// file is the one whose headers or hunks are read.
	file *filePatch
	// git says that it began with diff --git, known that its paths are known, named that --- and +++ gave them; renames counts
	// the two lines of a rename.
	git, known, named bool
	renames           int
}

var (
	hunkHeader = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)
	// gitHeaders are lines of git that change nothing here.
	gitHeaders = regexp.MustCompile(`^(?:index |Index: |similarity index |dissimilarity index |deleted file mode 100|={7,}$)`)
	mailFooter = regexp.MustCompile(`^\d+\.\d+`)
)

const devNull = "/dev/null"

// parsePatch reads a unified diff, or what stands between *** Begin Patch and *** End Patch. It needs neither right line
// numbers nor right counts. The error names a line of the patch.
func parsePatch(text string) ([]*filePatch, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	p := &patchParser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	if strings.Count(text, "\r\n") >= len(p.lines)-1 { // the line ends are those of the way that it came
		for i, line := range p.lines {
			p.lines[i] = strings.TrimSuffix(line, "\r")
		}
	}
	for p.at < len(p.lines) {
		if err := p.step(); err != nil {
			return nil, fmt.Errorf("line %d: %w", min(p.at, len(p.lines)-1)+1, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if len(p.files) == 0 {
		return nil, errors.New("there is no file in it: begin each with --- a/path and +++ b/path")
	}
	if len(p.files) > maxPatchedFiles {
		return nil, fmt.Errorf("it has %d files, more than %d: split it", len(p.files), maxPatchedFiles)
	}
	return merge(p.files)
}

// step reads what stands at the current line outside of hunks.
func (p *patchParser) step() error {
	line := p.lines[p.at]
	switch {
	case strings.HasPrefix(line, "diff --git "):
		return p.gitHeader(line)
	case p.fileHeader():
		return p.header()
	case strings.HasPrefix(line, "*** "):
		return p.envelope(line)
	case p.file == nil: // text before the first file
		p.at++
		return nil
	case strings.HasPrefix(line, "@@"):
		return p.hunk(line)
	default:
		return p.extended(line)
	}
}

// fileHeader says whether --- and +++ stand here.
func (p *patchParser) fileHeader() bool {
	return p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at], "--- ") && strings.HasPrefix(p.lines[p.at+1], "+++ ")
}

// begin starts another file.
func (p *patchParser) begin(git bool) error {
	if err := p.finish(); err != nil {
		return err
	}
	p.file = &filePatch{mode: newFileMode, at: p.at + 1}
	p.git, p.known, p.named, p.renames = git, false, false, 0
	p.files = append(p.files, p.file)
	return nil
}

// finish judges the file that was read.
func (p *patchParser) finish() error {
	f := p.file
	switch {
	case f == nil:
	case !p.known || p.renames == 1:
		return fmt.Errorf("line %d: it does not say which file it is about: give --- a/path and +++ b/path", f.at)
	case len(f.hunks) == 0 && f.old == f.new:
		return fmt.Errorf("line %d: there is no change to %s", f.at, f.old)
	}
	return nil
}

// gitHeader reads diff --git a/x b/x. Its paths count where nothing else names them: for an empty file.
func (p *patchParser) gitHeader(line string) error {
	if err := p.begin(true); err != nil {
		return err
	}
	p.at++
	rest := strings.TrimRight(strings.TrimPrefix(line, "diff --git "), " \t\r")
	middle := len(rest) / 2 // both paths are of one length
	if len(rest)%2 == 0 || rest[middle] != ' ' {
		return nil
	}
	before, errBefore := patchPath(rest[:middle])
	after, errAfter := patchPath(rest[middle+1:])
	if errBefore == nil && errAfter == nil && strings.TrimPrefix(before, "a/") == strings.TrimPrefix(after, "b/") {
		p.file.old, p.file.new = stripped(before, after)
		p.known = true
	}
	return nil
}

// header reads --- and +++. They belong to the headers of git above them unless they name another file.
func (p *patchParser) header() error {
	before, errBefore := patchPath(p.lines[p.at][4:])
	after, errAfter := patchPath(p.lines[p.at+1][4:])
	if err := errors.Join(errBefore, errAfter); err != nil {
		return err
	}
	before, after = stripped(before, after)
	if p.file == nil || !p.git || p.named || p.known && p.other(before, after) {
		if err := p.begin(false); err != nil {
			return err
		}
	}
	renamed := p.renames > 0
	switch {
	case before == "" && after == "":
		return errors.New("both paths are " + devNull)
	case renamed && (before != p.file.old || after != p.file.new):
		return fmt.Errorf("the paths are not those of the rename from %s to %s", p.file.old, p.file.new)
	case !renamed && before != "" && after != "" && before != after:
		return fmt.Errorf("%s and %s differ: to rename a file, write \"rename from %s\" and \"rename to %s\" above ---",
			before, after, before, after)
	}
	p.file.old, p.file.new, p.known, p.named = before, after, true, true
	p.at += 2
	return nil
}

// other says whether paths are not those of the current file.
func (p *patchParser) other(before, after string) bool {
	return (before == "" || before != p.file.old) && (after == "" || after != p.file.new)
}

// extended reads the further headers of git, and what may stand between files.
func (p *patchParser) extended(line string) error {
	p.at++
	value := func(prefix string) (string, bool) {
		rest, ok := strings.CutPrefix(line, prefix)
		return rest, ok
	}
	if path, ok := value("rename from "); ok {
		return p.rename(&p.file.old, path)
	}
	if path, ok := value("rename to "); ok {
		return p.rename(&p.file.new, path)
	}
	if mode, ok := value("new file mode "); ok {
		p.file.old = ""
		return p.mode(mode)
	}
	switch {
	case strings.HasPrefix(line, "deleted file mode 100"):
		p.file.new = ""
	case strings.HasPrefix(line, "Binary files "), strings.HasPrefix(line, "GIT binary patch"):
		return errors.New("it changes a binary file, which cannot be patched: write it with run_command")
	case strings.HasPrefix(line, "old mode "), strings.HasPrefix(line, "new mode "):
		return errors.New("it changes a file's mode: use run_command with chmod, and leave the mode out of the patch")
	case strings.HasPrefix(line, "copy from "), strings.HasPrefix(line, "copy to "):
		return errors.New("it copies a file: create the new file with its whole content, from --- " + devNull)
	case strings.TrimSpace(line) == "", gitHeaders.MatchString(line), strings.HasPrefix(line, "```"):
	case strings.TrimRight(line, " ") == "--" && p.at < len(p.lines) && mailFooter.MatchString(p.lines[p.at]):
		p.at++ // the footer of a mail
	default:
		p.at--
		return fmt.Errorf("%q is no line of a patch: lines of a hunk begin with a space, + or -", short(printable(line), 100))
	}
	return nil
}

func (p *patchParser) rename(to *string, path string) (err error) {
	p.known = true
	p.renames++
	*to, err = patchPath(path)
	return err
}

func (p *patchParser) mode(mode string) error {
	n, err := strconv.ParseUint(strings.TrimSpace(mode), 8, 32)
	if err != nil || n&^0o777 != 0o100000 {
		return fmt.Errorf("mode %q: only regular files can be created", short(printable(mode), 20))
	}
	p.file.mode = newFileMode | fs.FileMode(n&0o111)
	return nil
}

// patchPath reads a path as git writes it: quoted where it holds odd characters, before a tab and a time in plain diffs.
func patchPath(text string) (string, error) {
	text, _, _ = strings.Cut(text, "\t")
	text = strings.TrimRight(text, " ")
	if strings.HasPrefix(text, `"`) {
		plain, err := strconv.Unquote(text)
		if err != nil {
			return "", fmt.Errorf("the path %s is not quoted well", short(printable(text), 200))
		}
		text = plain
	}
	if text == "" {
		return "", errors.New("a path is empty")
	}
	return text, nil
}

// stripped takes a/ and b/ from paths, where both have them, and makes /dev/null empty.
func stripped(before, after string) (old, changed string) {
	old, isOld := strings.CutPrefix(before, "a/")
	changed, isNew := strings.CutPrefix(after, "b/")
	if !isOld && before != devNull || !isNew && after != devNull {
		old, changed = before, after
	}
	if before == devNull {
		old = ""
	}
	if after == devNull {
		changed = ""
	}
	return old, changed
}
