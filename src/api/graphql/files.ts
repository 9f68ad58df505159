/** Files on the wire: announced and listed here, brought and fetched by signed links. */
import {
  deleteFile,
  downloadUrl,
  fileStatuses,
  listFiles,
  presignUpload,
  type StoredFile,
  type Upload,
} from '../../domain/files/index.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export type FileTypes = ReturnType<typeof addFiles>

/** Adds everything about files and answers the input with which others refer to them. */
export function addFiles(refs: Refs) {
  addFileType(refs)
  addFileQueries(refs)
  addFileMutations(refs)
  return {
    Attachment: refs.builder.inputType('AttachmentInput', {
      description: 'An uploaded file of the same project.',
      fields: (t) => ({
        fileId: t.id({ required: true, description: 'Begins with file_.' }),
        filename: t.string({ description: 'Another name for this use.' }),
        contentType: t.string({ description: 'Another media type for this use.' }),
      }),
    }),
  }
}

function addFileType({ builder, File }: Refs): void {
  const Status = builder.enumType('FileStatus', {
    description: 'Whether the bytes of a file are there.',
    values: described(fileStatuses, {
      PENDING: 'Announced; the bytes have not come yet.',
      READY: 'The bytes are there, and never change.',
    }),
  })
  const moment = { type: 'DateTime', nullable: true } as const
  File.implement({
    description: 'A file that was announced with presignUpload.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'file_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with file_.' }),
      filename: t.exposeString('filename', { description: 'As announced.' }),
      contentType: t.exposeString('contentType', { description: 'The media type, as announced.' }),
      status: t.expose('status', { type: Status, description: 'Whether its bytes are there.' }),
      size: t.exposeFloat('size', { nullable: true, description: 'In bytes; null while it is PENDING.' }),
      sha256: t.exposeString('sha256', {
        nullable: true,
        description: 'Of the bytes, hex; null while it is PENDING.',
      }),
      downloadUrl: t.string({
        nullable: true,
        description: 'A link that gives the bytes with GET for an hour; null while it is PENDING.',
        resolve: (file, _args, { ctx }) => (file.status === 'READY' ? downloadUrl(ctx, file.id) : null),
      }),
      agentId: t.exposeID('agentId', {
        nullable: true,
        description: 'The agent whose bound keys may attach it; null: none.',
      }),
      createdBy: t.exposeID('createdBy', { description: 'The key that announced it.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was announced.' }),
      uploadedAt: t.expose('uploadedAt', { ...moment, description: 'When its bytes had come.' }),
    }),
  })
}

function addFileQueries({ builder, File }: Refs): void {
  const connection = connectionOf(File, 'File')
  builder.queryField('file', (t) =>
    t.field({
      type: File,
      nullable: true,
      description: 'A file by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with file_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.files.load(id),
    }),
  )
  builder.queryField('files', (t) =>
    t.field({
      type: connection,
      description: 'The files of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listFiles(ctx, { projectId, page: p })),
    }),
  )
}

function addFileMutations(refs: Refs): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'presignUpload',
    description:
      'Announces a file and answers the link that takes its bytes with PUT, once, within 15 minutes.',
    input: builder.inputType('PresignUploadInput', {
      description: 'A new file.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        filename: t.string({ required: true, description: 'A plain name, 1 to 255 characters.' }),
        contentType: t.string({
          required: true,
          description: 'The media type; send the same with the bytes.',
        }),
        agentId: t.id({
          description:
            'Begins with agt_. Keys that are bound to this agent may attach the file; none when left out.',
        }),
        size: t.int({ description: 'In bytes, when it is known: one that is too large is refused at once.' }),
      }),
    }),
    payload: builder.objectRef<Upload>('PresignUploadPayload').implement({
      description: 'The file, and where its bytes go.',
      fields: (t) => ({
        file: t.expose('file', { type: refs.File, description: 'The file, PENDING.' }),
        uploadUrl: t.exposeString('uploadUrl', {
          description: 'PUT the bytes here, with the same content-type.',
        }),
        expiresAt: t.field({
          type: 'DateTime',
          description: 'When the link ends.',
          resolve: ({ file }) => file.uploadUntil,
        }),
      }),
    }),
    errors: ['NotFoundError', 'LimitReachedError'],
    run: (ctx, input) => presignUpload(ctx, input),
  })
  addMutation(refs, {
    name: 'deleteFile',
    description:
      'Deletes a file and its bytes. Links to it end; runs that refer to it are told that it is gone.',
    input: builder.inputType('DeleteFileInput', {
      description: 'The file to delete.',
      fields: (t) => ({ fileId: t.id({ required: true, description: 'Begins with file_.' }) }),
    }),
    payload: builder.objectRef<{ file: StoredFile }>('DeleteFilePayload').implement({
      description: 'The file as it was.',
      fields: (t) => ({ file: t.expose('file', { type: refs.File, description: 'The file.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ file: await deleteFile(ctx, input) }),
  })
}
