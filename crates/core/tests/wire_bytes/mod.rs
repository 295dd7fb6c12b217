//! Protobuf fields, spelled out.

/// A length-delimited field: its tag, its length and its content.
pub fn delimited(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![tag];
    tfrecs_core::example::wire::push_varint(&mut field, content.len() as u64);
    field.extend(content);
    field
}
