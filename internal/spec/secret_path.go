package spec

import (
	"path"
	"slices"
	"strings"
)

// Names of files and directories, in lower case, that hold keys, credentials or variables: whole names, a directory with the name
// in it, ends, and beginnings, some of them with the end that belongs to them.
var (
	secretNames = strings.Fields(`.git .netrc _netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .my.cnf .git-credentials
		.dockercfg .docker .htpasswd .aws .azure .ssh .gnupg .kube .boto .s3cfg .vault-token .pulumi .sentryclirc .gem
		.databrickscfg .snowsql .config/gcloud .config/gh .cargo/credentials .cargo/credentials.toml
		application_default_credentials.json credentials.json client_secret.json terraform.tfvars secring.gpg`)
	secretEnds   = strings.Fields(`.pem .key .p12 .pfx .jks .keystore .kdbx .ppk .tfstate .tfstate.backup .agekey`)
	secretStarts = map[string]string{
		".env": "", "id_rsa": "", "id_dsa": "", "id_ecdsa": "", "id_ed25519": "", "client_secret_": ".json",
		"service-account": ".json", "service_account": ".json",
	}
)

// publicKeys is the bundle of public certificates that Python's packages bring, in spite of its name's end.
const publicKeys = "cacert.pem"

// PrivateKey is the expression for what begins a private key in a text.
const PrivateKey = `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`

// SecretPath reports whether a path with slashes has, or lies below, a name that is known to hold keys, credentials or variables.
func SecretPath(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	for i, base := range parts {
		pair := path.Join(parts[max(0, i-1)], base)
		if slices.Contains(secretNames, base) || slices.Contains(secretNames, pair) {
			return true
		}
		if base != publicKeys && slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(base, end) }) {
			return true
		}
		for start, end := range secretStarts {
			if strings.HasPrefix(base, start) && strings.HasSuffix(base, end) {
				return true
			}
		}
	}
	return false
}
