/**
 * Makes a release on this machine, without a network: `node tools/release.mjs 0.1.0`.
 *
 * Writes the version everywhere, gives the changelog's entries a heading, commits, tags, and packs release/gatehouse-server-0.1.0.tgz
 * and, with `--image docker|podman|buildah`, release/gatehouse-0.1.0.tar. Nothing is pushed or published. Until the commit
 * `git checkout .` undoes everything; `git tag -d v0.1.0 && git reset --hard HEAD~1` undoes it afterwards.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { image: { type: 'string' } } })
const [version] = positionals
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim()

/** Where the version stands, beside the packages: the text around it. */
const places = [
  ['deploy/compose.yaml', /(image: gatehouse:)\S+/g],
  ['deploy/ecs-task.json', /(\/gatehouse:)[\d.]+/g],
  ['deploy/kustomize/kustomization.yaml', /(newTag: )\S+/g],
  ['docs/guides/installing.md', /(gatehouse(?:-server)?[:-]|newTag: )\d+\.\d+\.\d+(?=\.tgz|\b)/g],
]

function refuse(why) {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}

if (!/^\d+\.\d+\.\d+$/.test(version ?? '')) refuse('Name a version such as 0.1.0.')
if (values.image && !['docker', 'podman', 'buildah'].includes(values.image))
  refuse('An image is made by docker, podman or buildah.')
if (git('status', '--porcelain')) refuse('The folder has changes: commit or remove them first.')
if (git('tag', '--list', `v${version}`)) refuse(`The tag v${version} exists.`)

const changelog = readFileSync('CHANGELOG.md', 'utf8')
const [, entries = ''] = /^## Unreleased\n(.*?)(?=^## |(?![^]))/ms.exec(changelog) ?? []
if (!/^- /m.test(entries)) refuse('CHANGELOG.md has no entries below "Unreleased".')
const today = git('log', '-1', '--format=%cs')
writeFileSync(
  'CHANGELOG.md',
  changelog
    .replace(/^No version has been released yet\..*\n\n/m, '')
    .replace(/^## Unreleased\n/m, `## Unreleased\n\n## ${version} - ${today}\n`),
)
execFileSync(
  'npm',
  ['version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts'],
  {
    stdio: 'ignore',
  },
)
for (const [path, pattern] of places)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(pattern, `$1${version}`))

git('add', '--all')
git('commit', '--message', `release: ${version}`)
git('tag', '--annotate', `v${version}`, '--message', `Gatehouse ${version}`)

mkdirSync('release', { recursive: true })
const run = (program, ...args) => execFileSync(program, args, { stdio: 'inherit' })
run(process.execPath, 'tools/build-when-stale.mjs')
run('npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', 'release')
if (values.image) {
  const name = `gatehouse:${version}`
  const format = values.image === 'docker' ? [] : ['--format=docker']
  run(values.image, 'build', ...format, '--file=deploy/Containerfile', `--tag=${name}`, '.')
  const archive = `release/gatehouse-${version}.tar`
  if (values.image === 'buildah') run('buildah', 'push', name, `docker-archive:${archive}:${name}`)
  else run(values.image, 'save', `--output=${archive}`, name)
}
process.stdout.write(`Gatehouse ${version} is tagged v${version}, and packed in release/.\n`)
