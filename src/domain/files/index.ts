/** The entry point of files. */
export {
  fileStatuses,
  attachmentsShape,
  maxAttachments,
  type Attachment,
  type AttachmentsInput,
  type StoredFile,
} from './file.ts'
export { deleteFile, getFiles, listFiles, presignUpload, resolveAttachments } from './files.ts'
export { downloadUrl, openDownload, openFile, type Download } from './download.ts'
export { keepFile, type KeepFileInput } from './keep.ts'
export { readLink } from './links.ts'
export { receiveFile } from './receive.ts'
export { blobKeysOf } from './stored.ts'
export { startFileWorker, type FileWorker } from './worker.ts'
