package toolcall

import "testing"

func TestCleanPath(t *testing.T) {
	for _, same := range [][]string{
		{
			`C:\Src\App\x.go`, "C:/Src/App/x.go", "c:/src/app/x.go", "/c/Src/App/x.go", "/mnt/c/Src/App/x.go",
			"/cygdrive/c/Src/App/x.go", `\\?\C:\Src\App\x.go`, "file:///C:/Src/App/x.go", `"C:\Src\App\x.go"`,
			`C:\Src\.\App\sub\..\x.go`, "C:/Src//App/x.go",
		},
		{`\\server\share\x.go`, "//server/share/x.go", `\\?\UNC\server\share\x.go`},
		{
			`\\wsl$\Ubuntu\home\me\x.go`, `\\wsl.localhost\Ubuntu\home\me\x.go`, "/home/me/x.go", "/home/me/./x.go",
			"file:///home/me/x.go",
		},
		{"src/x.go", "./src/x.go", `src\x.go`, `.\src\x.go`, "'src/x.go'"},
		{`D:\`, "D:/", "/d/", "/d", "/mnt/d"},
	} {
		for _, s := range same {
			if got, want := CleanPath(s), CleanPath(same[0]); got != want {
				t.Errorf("%q is %q, and %q is %q", s, got, same[0], want)
			}
		}
	}
	for _, other := range [][2]string{
		{"/home/x.go", "/HOME/x.go"}, {"/mnt/data/x", "/data/x"}, {"/cc/x", "c:/x"}, {"ab", "a/b"}, {"/mnt", "/"},
	} {
		if CleanPath(other[0]) == CleanPath(other[1]) {
			t.Errorf("%q and %q are one file", other[0], other[1])
		}
	}
	if !SameFile(`D:\App\Web\x.js`, "web/x.js") || SameFile(`D:\App\Web\x.js`, "eb/x.js") ||
		SameFile(`D:\x.js`, `E:\x.js`) {
		t.Error("a relative spelling must end an absolute one, element by element")
	}
}
