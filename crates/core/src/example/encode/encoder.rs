//! One message, feature by feature.

use super::field::{FIRST, FeatureValues, SECOND, field_len, push_field, push_header};

/// Room for the header of the features, whose length is known last.
const GAP: usize = 11;

/// Builds one Example, or one `SequenceExample`, feature by feature.
#[derive(Default)]
pub struct ExampleEncoder {
    /// After a [`GAP`], if there are any.
    features: Vec<u8>,
    feature_lists: Vec<u8>,
    steps: Vec<u8>,
}

impl ExampleEncoder {
    /// Adds a feature.
    #[inline]
    pub fn feature(&mut self, name: &[u8], values: FeatureValues<'_>) {
        if self.features.is_empty() {
            self.features.resize(GAP, 0);
        }
        push_entry(&mut self.features, name, values);
    }

    /// Adds a step to the feature list that [`Self::feature_list`] will name.
    pub fn step(&mut self, values: FeatureValues<'_>) {
        let content = values.content_len();
        push_header(&mut self.steps, FIRST, values.feature_len(content));
        values.push_feature(content, &mut self.steps);
    }

    /// Adds a feature list of the steps so far, and begins the next one.
    pub fn feature_list(&mut self, name: &[u8]) {
        let entry = field_len(name.len()) + field_len(self.steps.len());
        push_header(&mut self.feature_lists, FIRST, entry);
        push_field(&mut self.feature_lists, FIRST, name);
        push_field(&mut self.feature_lists, SECOND, &self.steps);
        self.steps.clear();
    }

    /// The message, and back to the beginning.
    pub fn finish(&mut self) -> Vec<u8> {
        let length = field_len(self.features().len()) + field_len(self.feature_lists.len());
        let mut message = Vec::with_capacity(length);
        self.finish_into(&mut message);
        message
    }

    /// The message where it lies. What has to come next is [`Self::reset`].
    pub fn finish_here(&mut self) -> &[u8] {
        let start = self.close_gap();
        if !self.feature_lists.is_empty() {
            push_field(&mut self.features, SECOND, &self.feature_lists);
        }
        self.features.get(start..).unwrap_or_default()
    }

    /// Puts the header of the features, if there are any, right before them, and says where it begins.
    fn close_gap(&mut self) -> usize {
        let (length, end) = (self.features().len(), self.features.len());
        if length == 0 {
            return end;
        }
        push_header(&mut self.features, FIRST, length);
        let start = GAP - (self.features.len() - end);
        self.features.copy_within(end.., start);
        self.features.truncate(end);
        start
    }

    fn features(&self) -> &[u8] {
        self.features.get(GAP..).unwrap_or_default()
    }

    /// Back to the beginning, whatever has come; of the memory, `most` bytes are kept at each place.
    pub fn reset(&mut self, most: usize) {
        for buffer in [&mut self.features, &mut self.feature_lists, &mut self.steps] {
            buffer.clear();
            buffer.shrink_to(most);
        }
    }

    /// Appends the message to `out`, and goes back to the beginning.
    pub(crate) fn finish_into(&mut self, out: &mut Vec<u8>) {
        if !self.features().is_empty() {
            push_field(out, FIRST, self.features());
        }
        if !self.feature_lists.is_empty() {
            push_field(out, SECOND, &self.feature_lists);
        }
        self.features.clear();
        self.feature_lists.clear();
    }
}

#[inline]
fn push_entry(out: &mut Vec<u8>, name: &[u8], values: FeatureValues<'_>) {
    let content = values.content_len();
    let feature = values.feature_len(content);
    let entry = field_len(name.len()) + field_len(feature);
    out.reserve(field_len(entry));
    push_header(out, FIRST, entry);
    push_field(out, FIRST, name);
    push_header(out, SECOND, feature);
    values.push_feature(content, out);
}
