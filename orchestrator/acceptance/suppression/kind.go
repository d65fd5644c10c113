package suppression

import "divisi/internal/lazyregexp"

// kind is one way to silence a checker. What the first group of its expression matches holds for more than its own line, or for
// all rules. It is a question in every run where always is set, else where a task mends a gate.
type kind struct {
	name, extensions string
	*lazyregexp.Regexp

	always bool
}

// inComments are the marks with which comments begin.
var inComments = []kind{
	{"eslint-disable", "", mark(`((?:eslint|oxlint)-disable(?:[\s*]|$)|tslint:disable(?:[\s*:]|$)|biome-ignore-(?:all|start)\b|` +
		`deno-lint-ignore-file|js[hl]int\s+ignore|eslint\s+[\w@/-]+["']?\s*:\s*\[?\s*(?:["']off|0))|` +
		`(?:es|ox|ts)lint[-:]disable-(?:next-)?line\b|biome-ignore\b|deno-lint-ignore\b`), true},
	{"@ts-ignore", "", mark(`(@ts-nocheck\b|@noflow\b)|@ts-(?:ignore|expect-error)\b|\$Flow(?:FixMe|Ignore|Expected)`), true},
	{"# noqa", "", mark(`((?i:flake8|ruff)\s*:\s*(?i:noqa|disable)|(?i:noqa)(?:[^:\w]|$))|(?i:noqa):`), true},
	{"# type: ignore", "", mark(`((?:type|pyright|ty):\s*ignore(?:[^\[\w]|$)|mypy:\s*(?:ignore-errors|disable|allow)|` +
		`pyright:\s*(?:basic\b|\w+\s*=\s*(?:false|none))|pyre-ignore-all)|(?:type|pyright|ty):\s*ignore\[|` +
		`pyre-(?:ignore|fixme)`), true},
	{"pylint: disable", "", mark(`(pylint:\s*(?:skip-file|disable\s*=\s*all))|pylint:\s*disable`), true},
	{"#nosec", "", mark(`(?i:nosec)\b|nosem(?:grep)?\b|gitleaks:allow|(?:lgtm|codeql)\s*\[|(?:checkov|tfsec|trivy|kics-scan|` +
		`tflint|cspell|hadolint|ansible-lint)[:\s-]*(?:skip|ignore|disable)`), true},
	{"//nolint", "", mark(`(nolint(?:\s*$|\s+|:\s*all\b)|lint:file-ignore\b)|nolint:|lint:ignore\b|revive:disable`), true},
	{"NOSONAR", "", re(`^(?:NOSONAR\b|CHECKSTYLE\s*[:.]\s*(?:OFF|SUPPRESS)|NOPMD\b|@?noinspection\b|ktlint-disable\b|` +
		`ReSharper\s+disable)|\bNOSONAR\s*(?:\*/)?$`), true},
	{"NOLINT", "", mark(`(NOLINT(?:NEXTLINE)?(?:[^(\w]|$)|NOLINTBEGIN)|NOLINT(?:NEXTLINE)?\(|cppcheck-suppress`), true},
	{"rubocop:disable", "", mark(`(?:rubocop|standard):(?:disable|todo)\b|steep:ignore\b|typed:\s*(?:ignore|false)\b`), true},
	{"@phpstan-ignore", "", mark(`(phpcs:(?:disable|ignoreFile)|@codingStandardsIgnoreFile)|@phpstan-ignore|@psalm-suppress|` +
		`@phan-suppress|phpcs:ignore|@codingStandardsIgnore`), true},
	{"shellcheck disable", "", mark(`shellcheck\s+disable\s*=|yamllint\s+disable|stylelint-disable|swiftlint:disable|` +
		`markdownlint-(?:disable|capture)|luacheck:\s*ignore|credo:disable|htmlhint-disable`), true},
	{"// ignore:", ".dart ", mark(`(ignore_for_file:)|ignore:`), true},
	{"no cover", "", mark(`(?:istanbul|c8|v8)\s+ignore|pragma:\s*no\s*cover|LCOV_EXCL|:nocov:|@codeCoverageIgnore`), true},
	{"fmt: off", "", mark(`prettier-ignore|fmt:\s*(?:off|skip)|yapf:\s*disable|isort:\s*(?:skip|off)|clang-format\s+off|` +
		`@formatter:off|spotless:off|dprint-ignore`), false},
}

func mark(expression string) *lazyregexp.Regexp { return re(`^(?:` + expression + `)`) }

const braces = scripts + jvm + ".swift .cs .dart .php .cc .cpp .cxx .hpp .hh "

// inCode are the others.
var inCode = []kind{
	{"#[allow]", ".rs ", re(`#(!)?\[\s*(?:cfg_attr\([^\]]*,\s*)?(?:allow|expect)\s*\(`), true},
	{"@SuppressWarnings", jvm + ".cs ", re(`(@file:Suppress\b|#\s*nullable\s+disable)|` +
		`@(?:Suppress(?:Warnings|FBWarnings|Lint)?|nowarn|unchecked)\b|` +
		`\[(?:\w+:\s*)?SuppressMessage\b|#\s*pragma\s+warning\s+disable`), true},
	{"#pragma", clang, re(`#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored|pragma\s*\(?\s*warning\s*\((?:\s*push\s*,)?\s*` +
		`(?:disable|suppress)`), true},
	{"as any", typescript, re(`\bas\s+(?:any|never)\b`), false},
	{"as unknown as", typescript, re(`\bas\s+unknown\s+as\b|<unknown>\s*[\w(]`), false},
	{"any", typescript, re(`(?:[:|&<]|=>|\bextends\s|\btype\s+\w+\s*=|<[^<>()\n]*,)\s*any\b\s*(?:[;,)>|&\[\]}={\n]|$)`), false},
	{"x!", typescript, re(`[\w$)\]]!(?:[.;,)\]}\[(:?]|[\t ]*(?:\n|$)|[\t ]+(?:as\b|[-+*/<>?:&|]|in\b|instanceof\b))`), false},
	{"Any", python, re(`(?:[:|\[]|->|\[[^\[\]\n]*,)\s*(?:\w+\.)?Any\b`), false},
	{"cast()", python, re(`\b(?:(?:typing|t)\.)?cast\(`), false},
	{"@no_type_check", python, re(`@(?:\w+\.)?no_type_check\b`), false},
	{"filterwarnings", python, re(`\b(?:filterwarnings|simplefilter)\(\s*(?:"\s+"|'\s+')`), false},
	{"except: pass", python, re(`\bexcept(?:\s*\(?\s*(?:Base)?Exception\b[^:\n]*)?\s*:\s*(?:pass\b|continue\b|\.\.\.)|` +
		`\bsuppress\(\s*(?:Base)?Exception\b`), true},
	{"!!", ".kt .kts .swift ", re(`\w!!|\btry!|\bas!`), false},
	{"unsafe", ".rs ", re(`\bunsafe\s*(?:\{|fn\b|impl\b)|\btransmute(?:::<[^()]*>)?\(`), false},
	{"const_cast", clang, re(`\b(?:const|reinterpret)_cast\s*<`), false},
	{"unused", clang, re(`__attribute__\s*\(\(\s*(?:__)?unused|\[\[\s*(?:gnu::|maybe_)unused|` +
		`(?m:(?:^|[;{}])\s*\(void\)\s*[\w(&*])|\b(?:Q_)?UNUSED(?:_PARAM\w*)?\s*\(`), false},
	{"an empty catch", braces, re(`\bcatch\b\s*(?:\([^)]*\))?\s*\{\s*\}`), true},
	{"an empty .catch()", scripts, re(`\.catch\(\s*(?:(?:async\s*)?(?:\([^()]*\)|\w+)\s*=>\s*(?:\{\s*\}|undefined|null)|` +
		`function\s*\w*\([^()]*\)\s*\{\s*\}|noop)\s*\)`), false},
	{"an empty rescue", ".rb .rake ", re(`\brescue\b[^\n;]*(?:\n|;)\s*(?:nil\s+)?end\b|\brescue\s+nil\b|` +
		`\bT\.(?:unsafe|untyped)\b`), false},
	{"_ =", ".go ", re(`(?m)^[\t ]*(?:_\s*,\s*)*_\s*=\s*[^=\s]|\bif err != nil \{\s*\}`), false},
	{"let _ =", ".rs ", re(`\blet\s+_\s*=[^=]|\.ok\(\)\s*;`), false},
	{"void", scripts, re(`(?m)^[\t ]*void\s+[\w(]`), false},
	{"@f()", ".php ", re(`(?:^|[\s=(!,])@\$?\w[\w\\:>-]*\s*\(`), false},
}

// commented is an empty catch with a comment.
var commented = kind{name: "a catch with a comment alone"}
