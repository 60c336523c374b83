package term

import "path/filepath"

// DataFolder is where programs keep a user's data; "" if the environment does not say.
func DataFolder(goos string, getenv func(string) string) string {
	return UserFolder(goos, getenv, "LocalAppData", "AppData/Local", "XDG_DATA_HOME", ".local/share")
}

// UserFolder is a folder that an environment variable names, or else a folder in the user's
// home. Windows and macOS have their own.
func UserFolder(goos string, getenv func(string) string, windowsName, windows, name, folder string) string {
	home := getenv("HOME")
	switch goos {
	case "windows":
		home, name, folder = getenv("USERPROFILE"), windowsName, windows
	case "darwin":
		name, folder = "", "Library/Application Support"
	}
	// The XDG specification says that a relative path counts as not set.
	if dir := getenv(name); dir != "" && (goos == "windows" || filepath.IsAbs(dir)) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(folder))
}
