#!/bin/bash
# Which of the caller's variables reach the command. The rows are NAME=VALUE;
# no value is a real one.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

# Known by the name.
cat >"$work/names" <<'ROWS'
MYSQL_PWD
SNOWSQL_PWD
db_pwd
SSHPASS
SMTPPASS
DB_PASS
PASS
SMTP_PASS_FILE
VPN_PASSCODE
LDAP_BINDPW
WIFI_PSK
NPM_OTP
CI_JOB_JWT
CI_JOB_JWT_V2
SERVICE_JWT
JWT
AZ_SAS
TS_AUTHKEY
NGROK_AUTHTOKEN
MINIO_ACCESSKEY
SIGNING_PEM
DEPLOY_CRED
HTTP_AUTH_BASIC
WALLET_MNEMONIC
AWS_ACCESS_KEY_ID
AWS_SESSION_TOKEN
AWS_PROFILE
AZURE_CLIENT_SECRET
GOOGLE_APPLICATION_CREDENTIALS
OS_APPLICATION_CREDENTIAL_SECRET
OS_AUTH_URL
SCW_SECRET_KEY
B2_APPLICATION_KEY
MC_HOST_backup
DATABRICKS_HOST
CLOUDFLARE_API_TOKEN
HEROKU_API_KEY
FLY_API_TOKEN
DIGITALOCEAN_ACCESS_TOKEN
LINODE_CLI_TOKEN
KUBECONFIG
CLUSTER_KUBECONFIG
VAULT_ADDR
SOPS_AGE_KEY
ETCDCTL_USER
PGPASSWORD
PGPASSFILE
REDISCLI_AUTH
SQLCMDPASSWORD
NEO4J_AUTH
RSYNC_PASSWORD
RESTIC_REPOSITORY
GITHUB_TOKEN
GH_TOKEN
GITLAB_PRIVATE_TOKEN
CI_REGISTRY_PASSWORD
CI_REPOSITORY_URL
ACTIONS_RUNTIME_TOKEN
ACTIONS_ID_TOKEN_REQUEST_URL
ACTIONS_CACHE_URL
SYSTEM_ACCESSTOKEN
CIRCLE_OIDC_TOKEN
BUILDKITE_AGENT_ACCESS_TOKEN
SONAR_LOGIN
CODECOV_TOKEN
COMPOSER_AUTH
REGISTRY_AUTH_FILE
NODE_AUTH_TOKEN
NPM_CONFIG__AUTH
TWINE_PASSWORD
UV_PUBLISH_TOKEN
CARGO_REGISTRY_TOKEN
GEM_HOST_API_KEY
MAVEN_GPG_PASSPHRASE
JFROG_CLI_SERVER_ID
NUGET_CREDENTIALPROVIDER_SESSIONTOKENCACHE_ENABLED
NIX_CONFIG
OPENAI_API_KEY
ANTHROPIC_API_KEY
ANTHROPIC_AUTH_TOKEN
GEMINI_API_KEY
GROQ_API_KEY
MISTRAL_API_KEY
HF_TOKEN
HUGGING_FACE_HUB_TOKEN
WANDB_API_KEY
SESSION_MANAGER
SSH_AUTH_SOCK
ROWS

# Known by the value.
cat >"$work/values" <<'ROWS'
AKIAABCDEFGHIJKLMNOP
ASIAABCDEFGHIJKLMNOP
AIzaSyABCDEFGHIJKLMNOPQRSTUVWXYZ
ya29.a0Ab
GOCSPX-abcdef
ABSKQmVkcm9jaw
DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==;EndpointSuffix=c
Endpoint=sb://a/;SharedAccessKeyName=b;SharedAccessKey=c
https://a.example/b?sv=1&sig=abc
ghp_0123456789
gho_0123456789
ghr_0123456789
ghs_0123456789
ghu_0123456789
github_pat_0123
glpat-0123
gldt-0123
glrt-0123
glcbt-0123
ATATT3xFfGF0
npm_0123456789
pypi-AgEIcHlwaS5vcmc
rubygems_0123
dckr_pat_0123
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln
Bearer abc
Authorization: Basic YTpi
xoxb-1-2
xoxe.xoxp-1
xapp-1-A
https://hooks.slack.com/services/T/B/x
https://discord.com/api/webhooks/1/x
sk_live_0123
rk_live_0123
sk_test_0123
whsec_0123
SG.abc.def
shpat_0123
sk-ant-api03-abc
sk-proj-abc
hf_abcdef
gsk_abcdef
nvapi-abc
r8_abc
xai-abc
pplx-abc
lsv2_pt_abc
hvs.abc
hvb.abc
abc.atlasv1.def
dp.pt.abc
pul-abc
dop_v1_abc
dor_v1_abc
dapi0123456789
tskey-auth-abc
sbp_abc
sb_secret_abc
lin_api_abc
ntn_abc
figd_abc
glsa_abc
NRAK-ABC
sntrys_abc
AGE-SECRET-KEY-1ABC
-----BEGIN OPENSSH PRIVATE KEY-----
postgres://me:word@host/db
Server=a;Password=b
-Djavax.net.ssl.trustStorePassword=changeit
ROWS

# What a build needs, and what only looks like one of the above.
cat >"$work/plain" <<'ROWS'
EDITOR=vi
LANG=en_US.UTF-8
TZ=Asia/Tokyo
TERM=xterm
CC=gcc
CFLAGS=-O2 -g
MAKEFLAGS=-j4
GOFLAGS=-mod=vendor
GOPROXY=https://proxy.golang.org,direct
RUSTFLAGS=-C target-cpu=native
CARGO_HOME=/x/cargo
JAVA_HOME=/usr/lib/jvm/java
JAVA_TOOL_OPTIONS=-Xmx1g
NODE_OPTIONS=--max-old-space-size=4096
NODE_ENV=test
PIP_INDEX_URL=https://pypi.org/simple
PYTHONHASHSEED=0
VIRTUAL_ENV=/x/venv
HTTPS_PROXY=http://proxy.example:3128
GIT_AUTHOR_NAME=Somebody
GIT_AUTHOR_EMAIL=somebody@example.org
TOKENIZERS_PARALLELISM=false
SSH_CONNECTION=1.2.3.4 5 6.7.8.9 22
CACHE_BYPASS=1
COMPASS=north
CI=true
GITHUB_ACTIONS=true
GITHUB_SHA=0123abcd
CI_COMMIT_SHA=0123abcd
OPENAI_BASE_URL=https://api.example/v1
ANTHROPIC_MODEL=some-model
SOURCE_DATE_EPOCH=1
PASSES=3
OSTYPE=linux-gnu
OS_VERSION=13
KEYBOARD=us
MONKEY=x
VERSION=1.2.3
DISCOUNT=50
HOSTNAME=xapp
TASK=sk_tasks
SIGNAL=SGD
ROWS

variables=()
mapfile -t names <"$work/names"
mapfile -t values <"$work/values"
mapfile -t plain <"$work/plain"
for name in "${names[@]}"; do variables+=("$name=dropped-by-name"); done
for i in "${!values[@]}"; do variables+=("V$i=${values[i]}"); done
(cd "$checkout" && timeout 60 env -i "PATH=$PATH" "HOME=$HOME" "OLDPWD=/old" "${plain[@]}" "${variables[@]}" \
  "$LEGATO_SANDBOX" run --scratch-dir "$state" -- env -0 </dev/null) 2>"$work/error" | tr '\n\0' '?\n' >"$work/seen"
check 'the command ran' grep -q '^LEGATO_EXECUTION=' "$work/seen"
for name in "${names[@]}"; do
  check "$name does not pass" sh -c "! grep '^$name=' '$work/seen'"
done
for i in "${!values[@]}"; do
  check "${values[i]} does not pass" sh -c "! grep '^V$i=' '$work/seen'"
done
for row in "${plain[@]}" OLDPWD=/old; do
  check "$row passes" grep -qxF -e "$row" "$work/seen"
done
check 'PWD is where the command starts' grep -qxF "PWD=$checkout" "$work/seen"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
