package environment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/environment"
)

// The sources of a build of Maven or Gradle do not decide what it downloads, unless it does more than to compile and test them.
func TestSetupsThatBuild(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"mvn -B -q -Dmaven.test.failure.ignore=true test": true,
		"./mvnw -f a/pom.xml verify":                      true,
		"mvn dependency:go-offline":                       true,
		"{ mvn -B -f own/pom.xml -q test || echo 'not installed: own/pom.xml'; } && (cd b && ../gradlew -p x testClasses)": true,
		"{ ./gradlew --no-daemon test || ./gradlew --no-daemon --offline testClasses; }":                                   true,
		"mvn install":                false,
		"mvn test exec:java":         false,
		"npm ci && mvn test":         false,
		"mvn test && echo x > a":     false,
		"mvn test | tee log":         false,
		"gradle publishToMavenLocal": false,
		"mvn -f $(find-pom) test":    false,
		"echo":                       false,
	} {
		require.Equal(t, want, environment.Builds(&spec.Setup{Command: []string{"sh", "-c", line}}, nil), line)
	}
	mvn := &spec.Setup{Command: []string{"mvn", "-B", "test"}}
	require.True(t, environment.Builds(mvn, []string{"target", "a/build", ".gradle"}))
	require.False(t, environment.Builds(mvn, []string{"target", "node_modules"}))
}

func TestWhatABuildReads(t *testing.T) {
	t.Parallel()
	blobs := func(change string) map[string]string {
		m := map[string]string{"pom.xml": "1", "a/pom.xml": "1", "version.txt": "1", "src/pom.xml": "1", "src/A.java": "1", "README": "1"}
		if m[change] = "2"; change == "gone" {
			delete(m, "a/pom.xml")
		}
		return m
	}
	read := environment.ReadBy(&environment.Tree{Blobs: blobs("x"), Outline: "o"}, []string{"pom.xml", "version.txt", "src/A.java", "src/pom.xml"}, true)
	for change, want := range map[string]bool{
		"src/A.java": true, "src/B.java": true, "README": true, "new": true,
		"src/pom.xml": false, "buildSrc/src/P.java": false, "pom.xml": false, "a/pom.xml": false, "b/pom.xml": false, "version.txt": false, "gone": false,
	} {
		e := environment.Environment{Manifest: environment.Manifest{Read: read}}
		require.Equal(t, want, e.Fits(&environment.Tree{Blobs: blobs(change), Outline: change}), change)
	}
}
