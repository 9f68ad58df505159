/** The script that makes a release, in a clone of this checkout as it is. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { folderForFile } from '../support/for-file.ts'

const root = resolve(import.meta.dirname, '../..')

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim()
const release = (...args: string[]) => {
  const env = {
    ...process.env,
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@example.com',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@example.com',
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tools/release.mjs', ...args], {
    cwd: folder,
    env,
  })
  return { status, said: `${stdout}${stderr}` }
}

const folder = await folderForFile()
for (const file of execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).split('\n'))
  if (file && existsSync(join(root, file))) cpSync(join(root, file), join(folder, file))
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
// What is built already is not built again.
if (existsSync(join(root, 'dist'))) cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
git('init', '--quiet')
writeFileSync(join(folder, '.git/info/exclude'), 'node_modules\n')
git('add', '--all')
git('commit', '--quiet', '--message', 'test: a state')

test('what cannot be released is refused, and nothing is changed', () => {
  expect(release('1.2')).toEqual({ status: 1, said: 'Name a version such as 0.1.0.\n' })
  expect(release('1.2.3', '--image', 'tar').said).toContain('docker, podman or buildah')
  writeFileSync(join(folder, 'more.txt'), '')
  expect(release('1.2.3').said).toContain('The folder has changes')
  execFileSync('rm', [join(folder, 'more.txt')])
  expect(git('status', '--porcelain')).toBe('')
})

test(
  'a release has its version everywhere, a heading in the changelog, a tag and a package',
  { timeout: 720_000 },
  () => {
    const before = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
    const made = release('7.8.9')
    expect(made.said).toContain('tagged v7.8.9')
    expect(made.status).toBe(0)
    expect(git('log', '-1', '--format=%s %D')).toMatch(
      /^release: 7\.8\.9 HEAD -> \S+, tag: v7\.8\.9$|^release: 7\.8\.9 .*tag: v7\.8\.9/,
    )
    const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
    expect(changelog).toMatch(/^## Unreleased\n\n## 7\.8\.9 - \d{4}-\d\d-\d\d\n\n### Added\n/m)
    expect(changelog).not.toContain('No version has been released yet')
    expect(changelog.length).toBeGreaterThan(before.length - 200)
    const old = execFileSync(
      'grep',
      ['-rlE', String.raw`gatehouse[:-]0\.1\.0|newTag: 0\.1\.0`, 'deploy', 'docs/guides'],
      {
        cwd: root,
        encoding: 'utf8',
      },
    )
    for (const path of old.trim().split('\n')) {
      const text = readFileSync(join(folder, path), 'utf8')
      expect(text, path).toContain('7.8.9')
      expect(text, path).not.toMatch(/gatehouse[:-]0\.1\.0|newTag: 0\.1\.0/)
    }
    for (const path of ['package.json', 'package-lock.json'])
      expect(JSON.parse(readFileSync(join(folder, path), 'utf8')).version).toBe('7.8.9')
    expect(readdirSync(join(folder, 'release'))).toEqual(['gatehouse-server-7.8.9.tgz'])
    expect(git('status', '--porcelain')).toBe('')
    expect(release('7.8.9').said).toBe('The tag v7.8.9 exists.\n')
    expect(release('7.9.0').said).toContain('no entries below "Unreleased"')
  },
)
