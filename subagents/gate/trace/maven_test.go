package trace

import (
	"os"
	"path/filepath"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func mavenTree(t *testing.T) string {
	t.Helper()
	return plant(t, map[string]string{
		"pom.xml": `<project><artifactId>shop</artifactId><name>Shop</name><modules><module>core</module><module>ui/web.xml</module><module>../out</module></modules>
			<profiles><profile><modules><module>twice/a</module><module>twice/b</module><module>broken</module><module>link</module></modules></profile></profiles></project>`,
		"core/pom.xml":                          `<project><parent><groupId>org.shop</groupId><artifactId>shop</artifactId></parent><artifactId>shop-core</artifactId><name>${project.groupId}:${project.artifactId}</name></project>`,
		"ui/web.xml":                            `<project><artifactId>web</artifactId><modules><module>deep</module></modules></project>`,
		"ui/deep/pom.xml":                       `<project><artifactId>deep</artifactId></project>`,
		"twice/a/pom.xml":                       `<project><artifactId>same</artifactId></project>`,
		"twice/b/pom.xml":                       `<project><artifactId>same</artifactId></project>`,
		"broken/pom.xml":                        `<project><artifactId>broken</art`,
		"core/src/main/java/org/shop/Cart.java": "", "core/src/test/java/org/shop/CartTest.java": "",
		"ui/src/main/java/org/web/Page.java": "", "ui/src/test/java/org/shop/CartTest.java": "",
	})
}

func TestMavenModules(t *testing.T) {
	t.Parallel()
	dir := mavenTree(t)
	outside := plant(t, map[string]string{"pom.xml": `<project><artifactId>outside</artifactId></project>`})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	for name, want := range map[string]string{
		"shop-core": "core", "org.shop:shop-core": "core", "org.shop:shop-core 1.0-SNAPSHOT": "core", "web": "ui", "deep": "ui/deep",
		"Shop": ".", "same": spec.HiddenAll, "broken": spec.HiddenAll, "outside": spec.HiddenAll, "unknown 1.0": spec.HiddenAll,
	} {
		places, err := Places(dir, []string{"mvn", "test"}, []string{OfModule + name}, false)
		require.NoError(t, err)
		require.Equal(t, []string{want}, places, name)
	}
}

// A stack of Java gives the places in the files of its classes: in the module of the test, else in another.
func TestStacksOfJava(t *testing.T) {
	t.Parallel()
	led, err := Find(mavenTree(t), []string{"mvn", "test"}, map[string]Names{
		"one": {Owners: []string{"core/org.shop.CartTest"}, Text: "\tat org.shop.Cart.label(Cart.java:14)\n\tat org.shop.CartTest$Labels.trims(CartTest.java:27)\n" +
			"\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)\n"},
		"other": {Owners: []string{"ui/org.shop.CartTest"}, Text: "\tat org.shop.Cart.<init>(Cart.java:3)\n\tat app//org.web.Page.lambda$render$0(Page.java:9)\n"},
	})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{
		"one":   {"core/src/main/java/org/shop/Cart.java", "core/src/test/java/org/shop/CartTest.java"},
		"other": {"core/src/main/java/org/shop/Cart.java", "ui/src/main/java/org/web/Page.java"},
	}, led.Positions)
	require.Contains(t, led.Paths["other"], "ui/src/test/java/org/shop/CartTest.java")
	require.NotContains(t, led.Paths["other"], "core/src/test/java/org/shop/CartTest.java")
}
