/** The entry point of files. */
export {
  attachmentsShape,
  maxAttachments,
  type Attachment,
  type AttachmentsInput,
  type StoredFile,
  blobKeysOf,
  fileShape,
} from './file.ts'
export { deleteFile, getFiles, listFiles, presignUpload, resolveAttachments } from './files.ts'
export { downloadUrl, openDownload, openFile, type Download, readLink } from './download.ts'
export { keepFile, type KeepFileInput, receiveFile } from './receive.ts'
export { startFileWorker, type FileWorker } from './worker.ts'
