class Pleat < Formula
  desc "Keeps an LLM agent inside its context window"
  homepage "https://github.com/pleat-dev/pleat"
  version "@version@"
  license "MIT"

  on_macos do
    on_arm do
      url "https://github.com/pleat-dev/pleat/releases/download/v@version@/pleat_@version@_darwin_arm64.tar.gz"
      sha256 "@darwin_arm64@"
    end
    on_intel do
      url "https://github.com/pleat-dev/pleat/releases/download/v@version@/pleat_@version@_darwin_amd64.tar.gz"
      sha256 "@darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/pleat-dev/pleat/releases/download/v@version@/pleat_@version@_linux_arm64.tar.gz"
      sha256 "@linux_arm64@"
    end
    on_intel do
      url "https://github.com/pleat-dev/pleat/releases/download/v@version@/pleat_@version@_linux_amd64.tar.gz"
      sha256 "@linux_amd64@"
    end
  end

  def install
    bin.install "pleat"
    bash_completion.install "completions/pleat.bash" => "pleat"
    zsh_completion.install "completions/_pleat"
    fish_completion.install "completions/pleat.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pleat version")
  end
end
