/** Files in GraphQL: created and listed here; bytes are uploaded and downloaded by presigned URLs. */
import {
  deleteFile,
  downloadUrl,
  fileStatuses,
  listFiles,
  presignUpload,
  type StoredFile,
  type Upload,
} from '../../../domain/files/index.ts'
import { connectionOf, hasPrefix, listCost, page } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export type FileTypes = ReturnType<typeof addFiles>

/** Adds the type, queries and mutations of files; returns the input with which other mutations attach one. */
export function addFiles(refs: Refs) {
  addFileType(refs)
  addFileQueries(refs)
  addFileMutations(refs)
  return {
    Attachment: refs.builder.inputType('AttachmentInput', {
      description: 'A reference to an uploaded file of the same project.',
      fields: (t) => ({
        fileId: t.id({ required: true, description: 'The id of the file; it begins with file_.' }),
        filename: t.string({ description: 'The file name for this use. Default: the name of the file.' }),
        contentType: t.string({
          description: 'The media type for this use. Default: the media type of the file.',
        }),
      }),
    }),
  }
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

function addFileQueries({ builder, File }: Refs): void {
  const connection = connectionOf(File, 'File')
  builder.queryField('file', (t) =>
    t.field({
      type: File,
      nullable: true,
      description: 'A file by id; null when it does not exist for this API key. Permission: files:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the file; it begins with file_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.files.load(id),
    }),
  )
  builder.queryField('files', (t) =>
    t.field({
      type: connection,
      description: 'The files of a project, newest first. Permission: files:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
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
      'Creates a file and returns a presigned URL that accepts its bytes with PUT, once, within 15 minutes. ' +
      'Permission: files:Create.',
    input: builder.inputType('PresignUploadInput', {
      description: 'The file to create.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filename: t.string({
          required: true,
          description: 'The file name without a path, 1 to 255 characters.',
        }),
        contentType: t.string({
          required: true,
          description: 'The media type; the upload must send the same content-type.',
        }),
        agentId: t.id({
          description:
            'The id of an agent whose bound API keys may attach the file; it begins with agt_. Default: no ' +
            'bound key may.',
        }),
        size: t.int({
          description:
            'The size in bytes, if known: a file that is too large is then refused at once. Required when files are ' +
            'in a bucket: the upload must have exactly this size.',
        }),
      }),
    }),
    payload: builder.objectRef<Upload>('PresignUploadPayload').implement({
      description: 'The file and the URL to upload its bytes to.',
      fields: (t) => ({
        file: t.expose('file', { type: refs.File, description: 'The file, with status PENDING.' }),
        uploadUrl: t.exposeString('uploadUrl', {
          description: 'The presigned URL: PUT the bytes to it, with the same content-type.',
        }),
        expiresAt: t.field({
          type: 'DateTime',
          description: 'When the presigned URL expires.',
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
      'Deletes a file and its bytes; presigned URLs end, and models that refer to it learn that it was ' +
      'deleted. ConflictError while a legal hold keeps it. Permission: files:Delete.',
    input: builder.inputType('DeleteFileInput', {
      description: 'The file to delete.',
      fields: (t) => ({
        fileId: t.id({ required: true, description: 'The id of the file; it begins with file_.' }),
      }),
    }),
    payload: builder.objectRef<{ file: StoredFile }>('DeleteFilePayload').implement({
      description: 'The file as it was before the deletion.',
      fields: (t) => ({ file: t.expose('file', { type: refs.File, description: 'The deleted file.' }) }),
    }),
    errors: ['NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ file: await deleteFile(ctx, input) }),
  })
}
