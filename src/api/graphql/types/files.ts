/** Files in GraphQL: created and listed here; bytes are uploaded and downloaded by presigned URLs. */
import { downloadUrl, fileStatuses, listFiles } from '../../../domain/files/index.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'

export type FileTypes = ReturnType<typeof addFiles>

/** Adds the type, queries and mutations of files; returns the input with which other mutations attach one. */
export function addFiles(refs: Refs) {
  addFileType(refs)
  addFileQueries(refs)
}

function addFileType({ builder, File }: Refs): void {
  const Status = builder.enumType('FileStatus', {
    description: 'Whether the bytes of a file were uploaded.',
    values: described(fileStatuses, {
      PENDING: 'The file was created; the bytes are not uploaded yet.',
      READY: 'The bytes are uploaded and never change.',
    }),
  })
  const moment = { type: 'DateTime', nullable: true } as const
  File.implement({
    description: 'A file that was created with presignUpload.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'file_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the file; it begins with file_.' }),
      filename: t.exposeString('filename', { description: 'The file name given to presignUpload.' }),
      contentType: t.exposeString('contentType', { description: 'The media type given to presignUpload.' }),
      status: t.expose('status', {
        type: Status,
        description: 'Whether the bytes of the file were uploaded.',
      }),
      size: t.exposeFloat('size', {
        nullable: true,
        description: 'The size in bytes; null while the file is PENDING.',
      }),
      sha256: t.exposeString('sha256', {
        nullable: true,
        description:
          'The SHA-256 hash of the bytes in hexadecimal; null while the file is PENDING, and for bytes that were ' +
          'uploaded straight to a bucket.',
      }),
      downloadUrl: t.string({
        nullable: true,
        description:
          'A presigned URL that returns the bytes with GET for one hour; null while the file is PENDING.',
        resolve: (file, _args, { ctx }) => (file.status === 'READY' ? downloadUrl(ctx, file.id) : null),
      }),
      agentId: t.exposeID('agentId', {
        nullable: true,
        description: 'The id of the agent whose bound API keys may attach the file; null: no bound key may.',
      }),
      createdBy: t.exposeID('createdBy', {
        description: 'The id of the API key or person that created the file.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the file was created.' }),
      uploadedAt: t.expose('uploadedAt', {
        ...moment,
        description: 'When the upload was complete; null while the file is PENDING.',
      }),
    }),
  })
}

function addFileQueries(refs: Refs): void {
  const connection = connectionOf(refs.File, 'File')
  addById(refs, {
    name: 'file',
    type: refs.File,
    kind: 'file',
    words: 'A file',
    permission: 'files:Get',
    load: ({ files }, id) => files.load(id),
  })
  addList(refs, {
    name: 'files',
    type: connection,
    description: 'The files of a project, newest first. Permission: files:List.',
    list: listFiles,
  })
}
