/** Media types of files. Pure. */

/** Those that are accepted by default: without HTML and scripts, which a browser could run on the origin of this server. */
export const defaultFileTypes = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'audio/*',
  'video/*',
  'text/plain',
  'text/csv',
  'text/markdown',
  'application/pdf',
  'application/json',
  'application/zip',
  'application/octet-stream',
  'application/vnd.*',
]
