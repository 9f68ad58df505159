/** Retention removes files from a bucket as from the disk: the bytes after the row, and none is forgotten. */
import { afterAll, expect, test } from 'vitest'
import { startS3Server } from '../../support/s3-server.ts'
import { openRetained } from './deployment.ts'
import { folderForFile, forFile } from '../../support/for-file.ts'

const s3 = await forFile(startS3Server())
const blobDir = await folderForFile()
const r = await openRetained('PGlite', { blobDir, s3: s3.settings() })
afterAll(async () => {
  await r?.deployment.close()
})

async function uploaded(text: string): Promise<string> {
  const input = { filename: 'a.txt', contentType: 'text/plain', size: text.length }
  const { file, uploadUrl } = await r.h.mutate('presignUpload', input, 'file { id } uploadUrl')
  await fetch(uploadUrl, { method: 'PUT', body: text, headers: { 'content-type': 'text/plain' } })
  const { data } = await r.h.gql('query($id: ID!) { file(id: $id) { status } }', { id: file.id })
  expect(data['file'].status).toBe('READY')
  await r.rows(`update files set upload_until = now() - interval '1 minute' where id = '${file.id}'`)
  return file.id
}
const keysOf = (id: string) => [...s3.objects.keys()].filter((key) => key.startsWith(`s3_${id}_`))

test('a file goes by age with its bytes in the bucket, also when the bucket is away at that time', async () => {
  const id = await uploaded('old')
  expect(keysOf(id)).toHaveLength(1)
  await r.set({ fileDays: 30 })
  s3.fault = () => 503
  await expect(r.sweep(31)).rejects.toThrow('The object store answered 503')
  expect([await r.count('files', `id = '${id}'`), keysOf(id).length]).toEqual([0, 1])
  s3.fault = () => null
  await r.sweep(31)
  expect([keysOf(id).length, await r.count('removed_blobs')]).toEqual([0, 0])
})
