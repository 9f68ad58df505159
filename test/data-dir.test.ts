/** Folders without a volume, by what the kernel says of a container's mounts. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isInLayer, openFolders } from '../src/paths.ts'

const overlay =
  '1217 1015 0:155 / / rw,relatime master:371 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/B\n' +
  '1218 1217 0:158 / /proc rw,nosuid - proc proc rw\n' +
  '1219 1217 0:159 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k\n'
const volume =
  '1254 1217 254:1 /var/lib/docker/volumes/data/_data /data rw,relatime master:29 - ext4 /dev/vda1 rw\n'
const spaced = String.raw`1255 1217 254:1 / /my\040data rw - ext4 /dev/vda1 rw` + '\n'

test.each([
  ['a container without a volume', '/data', overlay, true],
  ['a volume', '/data', overlay + volume, false],
  ['a folder of a volume', '/data/blobs', overlay + volume, false],
  ['a folder whose name begins as the volume’s does', '/database', overlay + volume, true],
  ['a volume with a space in its name', '/my data/db', overlay + spaced, false],
  [
    'a volume in memory over another one',
    '/data',
    `${overlay}${volume}9 1 0:9 / /data rw - tmpfs tmpfs rw\n`,
    false,
  ],
  ['no container', '/data', '25 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n', false],
  ['a system that does not tell', '/data', '', false],
])('%s', (_name, path, mountinfo, expected) => {
  expect(isInLayer(path, mountinfo)).toBe(expected)
})

test('a data directory that cannot be written is a mistake of the configuration, with a way on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-folders-'))
  const file = join(folder, 'file')
  await writeFile(file, '')
  await chmod(file, 0o400)
  const dataDir = join(file, 'data')
  await expect(
    openFolders({ databaseUrl: null, dataDir, blobDir: dataDir }, { warn() {} } as never),
  ).rejects.toThrow(
    `GATEHOUSE_DATA_DIR ${dataDir} cannot be written (ENOTDIR): mount a volume there, name another folder, or use PostgreSQL with DATABASE_URL`,
  )
  await openFolders({ databaseUrl: 'postgres://x/y', dataDir, blobDir: dataDir }, { warn() {} } as never)
  await rm(folder, { recursive: true })
})
