/** The entry point of files. */
export {
  fileStatuses,
  maxAttachments,
  type Attachment,
  type AttachmentsInput,
  type StoredFile,
} from './file.ts'
export {
  deleteFile,
  downloadUrl,
  getFiles,
  listFiles,
  openFile,
  presignUpload,
  resolveAttachments,
  type PresignUploadInput,
  type Upload,
} from './files.ts'
export { keepFile, type KeepFileInput } from './keep.ts'
export { readLink } from './links.ts'
export { receiveFile } from './receive.ts'
export { blobKeysOf } from './stored.ts'
