package trace

import (
	"cmp"
	"encoding/xml"
	"path"
	"strings"

	"divisi/internal/lazyregexp"
)

// OfModule is before the artifact or the name of a Maven module.
const OfModule = "module: "

// maxPoms bounds the modules that are read.
const maxPoms = 2000

// A frame of a Java stack: the class, and the file with its line. Those of the JDK have its module before them.
var javaFrame = lazyregexp.New(`\bat (?:app//)?((?:[\p{L}\w$]+\.)*)[\p{L}\w$]+\.[\p{L}\w$<>]+` +
	`\(([\p{L}\w$]+\.(?:java|kt|scala|groovy)):\d+\)`)

// sourceRoots are where a module keeps its classes.
var sourceRoots = strings.Fields(`src/main/java src/test/java src/main/kotlin src/test/kotlin src/main/scala src/test/scala
	src/main/groovy src/test/groovy`)

// pom is the relevant part of a pom.xml.
type pom struct {
	Group       string   `xml:"groupId"`
	ParentGroup string   `xml:"parent>groupId"`
	Artifact    string   `xml:"artifactId"`
	Name        string   `xml:"name"`
	Modules     []string `xml:"modules>module"`
	Profiles    []string `xml:"profiles>profile>modules>module"`
}

// name is how Maven prints it.
func (p *pom) name() string {
	group := cmp.Or(p.Group, p.ParentGroup)
	return strings.NewReplacer("${project.artifactId}", p.Artifact, "${artifactId}", p.Artifact, "${project.groupId}", group,
		"${groupId}", group).Replace(strings.TrimSpace(p.Name))
}

// readPoms finds the Maven modules: those where the command works, and those that they name.
func (t *tree) readPoms() {
	if t.poms != nil {
		return
	}
	t.poms = map[string]string{}
	seen := map[string]bool{}
	queue := append([]string{}, t.bases...)
	for ; len(queue) > 0 && len(seen) < maxPoms; queue = queue[1:] {
		file := queue[0]
		if t.kind(file) == directory {
			file = path.Join(file, "pom.xml")
		}
		if seen[file] || !validPath(file) || t.kind(file) != regular {
			continue
		}
		seen[file] = true
		var p pom
		if xml.Unmarshal(t.read(file, maxModuleFile), &p) != nil {
			continue
		}
		dir := path.Dir(file)
		for _, source := range sourceRoots {
			if root := path.Join(dir, source); t.kind(root) == directory {
				t.javaRoots = append(t.javaRoots, root)
			}
		}
		for _, known := range []string{p.Artifact, p.name()} {
			if other, twice := t.poms[known]; twice && other != dir {
				t.poms[known] = "" // it cannot be told which
			} else {
				t.poms[known] = dir
			}
		}
		for _, m := range append(p.Modules, p.Profiles...) {
			queue = append(queue, path.Join(dir, strings.TrimSpace(m)))
		}
	}
}

// maven returns the directory of a Maven module; "" where it is not known. Maven may print its version after its name.
func (t *tree) maven(name string) string {
	t.readPoms()
	dir, known := t.poms[name]
	if at := strings.LastIndexByte(name, ' '); !known && at > 0 {
		dir = t.poms[name[:at]]
	}
	return dir
}

// javaFile returns the file of a frame: in the modules of the failing test, else in any.
func (t *tree) javaFile(file string, bases []string) string {
	for _, base := range bases {
		if strings.Contains(base+"/", "/src/test/") || strings.HasPrefix(base, "src/test/") {
			bases = append(bases[:len(bases):len(bases)], strings.Replace(base, "src/test", "src/main", 1))
		}
	}
	if p := t.resolve(file, bases); p != "" {
		return p
	}
	t.readPoms()
	return t.resolve(file, t.javaRoots)
}
