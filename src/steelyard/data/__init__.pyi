# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.data.documents import Document as Document
from steelyard.data.documents import read_document as read_document
from steelyard.data.documents import read_documents as read_documents
from steelyard.data.sample_files import SampleFiles as SampleFiles
