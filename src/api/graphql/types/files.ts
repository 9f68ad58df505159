/** Files in GraphQL: created and listed here; bytes are uploaded and downloaded by presigned URLs. */
import { downloadUrl, listFiles, fileShape } from '../../../domain/files/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'

export function addFiles(refs: Refs): void {
  addFileType(refs)
  addFileQueries(refs)
}

function addFileType({ shapes, File }: Refs): void {
  shapes.node(File, 'file', fileShape, (t) => ({
    downloadUrl: t.string({
      nullable: true,
      description:
        'A presigned URL that returns the bytes with GET for one hour; null while the file is PENDING.',
      resolve: (file, _args, { ctx }) => (file.status === 'READY' ? downloadUrl(ctx, file.id) : null),
    }),
  }))
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
