package environment

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var (
	// installScripts run when packages of the tree itself are installed, with whatever they read.
	installScripts = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"}
	// nodeSections are where a package.json names packages, and nodeSource is one that is copied out of the tree or made by a
	// program of it.
	nodeSections = strings.Fields(`dependencies devDependencies optionalDependencies peerDependencies dependenciesMeta
		overrides resolutions pnpm`)
	nodeSource = lazyregexp.New(`^(?:file:|exec:|\.{0,2}/|~/|[^:]*\.(?:tgz|tar|tar\.gz)$)`)
	nodeConfig = lazyregexp.New(`(?i)\binject-?workspace-?packages["']?\s*[:=]\s*["']?true|\bfile:`)
	gems       = lazyregexp.New(`\b(?:path|gemspec|eval_gemfile|instance_eval|require_relative|File|IO|Dir)\b|` +
		`\brequire\s*\(?["']`)
	// sources are marks of tree sources in other manifests, by their names.
	sources = map[string]*lazyregexp.Regexp{
		"pnpm-workspace.yaml": nodeConfig, ".npmrc": nodeConfig, ".yarnrc": nodeConfig, ".yarnrc.yml": nodeConfig,
		"setup.py": lazyregexp.New(``), "setup.cfg": lazyregexp.New(`(?m)^\s*scripts\s*=|\b(?:file|attr):`),
		".pnpmfile.cjs": lazyregexp.New(`\b(?:require|import)\b`),
		"pyproject.toml": lazyregexp.New(`[{,.]\s*path\s*=|\[tool\.uv\.sources\.|\beditable\s*=\s*false|\bfile:|` +
			`\bdynamic\s*=|\bbuild\.hooks\b|\bext-modules\b|\[tool\.poetry\.build|\bscript-files\b`),
		"Gemfile": gems, "gems.rb": gems,
	}
	// pureBackends install a project of Python as a link to its sources, and compile nothing unless another file or a table of
	// sources tells so.
	pureBackends = []string{
		"flit_core.buildapi", "hatchling.build", "pdm.backend", "poetry.core.masonry.api", "setuptools.build_meta", "uv_build",
	}
	buildBackend = lazyregexp.New(`\bbuild-backend\s*=\s*["']([^"']*)`)
)

// fromTree reports whether an installation copies or builds what is in the tree, or may do so, because of a file that it reads:
// then more than such files decides what it leaves. scripts reports that it runs those of a package.json.
func (t *Tree) fromTree(name string, scripts bool) (bool, error) {
	base := path.Base(name)
	source := sources[base]
	if source == nil && base != manifestOfNode {
		return false, nil
	}
	data, err := t.Read(name)
	if err != nil {
		return false, err
	}
	if source != nil {
		backend := buildBackend.FindSubmatch(data)
		return source.Match(data) || backend != nil && !slices.Contains(pureBackends, string(backend[1])), nil
	}
	_, gyp := t.Blobs[path.Join(path.Dir(name), "binding.gyp")] // npm runs node-gyp without a script being named
	return scripts && gyp || nodeFromTree(data, scripts), nil
}

// nodeFromTree is fromTree for a package.json. One that cannot be read may name anything.
func nodeFromTree(data []byte, scripts bool) bool {
	var manifest map[string]any
	if json.Unmarshal(data, &manifest) != nil {
		return true
	}
	named, _ := manifest["scripts"].(map[string]any)
	return slices.ContainsFunc(nodeSections, func(section string) bool { return namesSource(manifest[section]) }) ||
		scripts && slices.ContainsFunc(installScripts, func(name string) bool { return named[name] != nil && named[name] != "" })
}

// namesSource reports whether a section of a package.json names a source of the tree, or has packages of the workspace copied.
func namesSource(section any) bool {
	switch section := section.(type) {
	case string:
		return nodeSource.MatchString(section)
	case map[string]any:
		for key, value := range section {
			if strings.HasPrefix(key, "inject") && value == true || namesSource(value) {
				return true
			}
		}
	}
	return false
}
