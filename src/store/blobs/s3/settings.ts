/** How a bucket is reached. */
export interface S3Settings {
  bucket: string
  /** The URL below which its objects are, without a final slash. */
  url: string
  /** The same as browsers and tools reach it. */
  publicUrl: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | null
}
